// SPDX-License-Identifier: GPL-3.0-or-later
#include "early_push.h"

namespace fastprobe {
namespace {

bool mentions(const_rtx pattern, unsigned regno)
{
    subrtx_iterator::array_type array;
    FOR_EACH_SUBRTX(part, array, pattern, ALL)
    if (REG_P(*part) && REGNO(*part) <= regno && regno < END_REGNO(*part))
        return true;
    return false;
}

/// A push may come before this instruction as well as after it: it neither looks at the stack pointer nor writes the
/// pushed register, and cannot leave the function or be looked at from outside.
bool push_may_precede(rtx_insn* insn, unsigned pushed)
{
    if (!NONJUMP_INSN_P(insn) || RTX_FRAME_RELATED_P(insn) || volatile_insn_p(PATTERN(insn))
        || asm_noperands(PATTERN(insn)) >= 0)
        return false;
    return !mentions(PATTERN(insn), STACK_POINTER_REGNUM) && !reg_set_p(gen_rtx_REG(DImode, pushed), insn);
}

} // namespace

void move_push_first()
{
    rtx_insn* first = nullptr; // the first instruction, the landing pad aside
    unsigned seen = 0;
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (NOTE_P(insn) || DEBUG_INSN_P(insn))
            continue;
        if (!NONJUMP_INSN_P(insn) || GET_CODE(PATTERN(insn)) == USE || GET_CODE(PATTERN(insn)) == CLOBBER)
            return;
        if (!first && target::is_landing_pad(insn))
            continue;
        const First kind = target::classify(insn);
        if (kind != First::frame_push && kind != First::other_push) {
            if (!first)
                first = insn;
            if (++seen > 16) // the scheduler moves nothing further than that
                return;
            continue;
        }
        if (!first || !RTX_FRAME_RELATED_P(insn))
            return;
        rtx pattern = PATTERN(insn);
        if (GET_CODE(pattern) == PARALLEL)
            pattern = XVECEXP(pattern, 0, 0);
        const unsigned pushed = REGNO(SET_SRC(pattern));
        for (rtx_insn* before = first; before != insn; before = NEXT_INSN(before))
            if (NONDEBUG_INSN_P(before) && !push_may_precede(before, pushed))
                return;
        // -g must not change code: drop a variable's location that would become wrong, and make the move.
        for (rtx_insn* before = first; before != insn; before = NEXT_INSN(before))
            if (DEBUG_BIND_INSN_P(before) && mentions(PATTERN(before), STACK_POINTER_REGNUM))
                INSN_VAR_LOCATION_LOC(before) = gen_rtx_UNKNOWN_VAR_LOC();
        reorder_insns(insn, insn, PREV_INSN(first));
        return;
    }
}

} // namespace fastprobe
