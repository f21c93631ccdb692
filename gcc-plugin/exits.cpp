// SPDX-License-Identifier: GPL-3.0-or-later
#include "exits.h"

#include "target_entry.h"

namespace fastprobe {
namespace {

bool is_tail_call(rtx_insn* insn)
{
    return CALL_P(insn) && SIBLING_CALL_P(insn);
}

/// (return), (simple_return), or a parallel of one and something else
rtx return_in(rtx_insn* insn)
{
    if (!JUMP_P(insn))
        return NULL_RTX;
    rtx pattern = PATTERN(insn);
    if (GET_CODE(pattern) == PARALLEL)
        pattern = XVECEXP(pattern, 0, 0);
    return ANY_RETURN_P(pattern) ? pattern : NULL_RTX;
}

bool is_way_out(rtx_insn* insn)
{
    return is_tail_call(insn) || return_in(insn);
}

const char* obstacle(rtx_insn* insn)
{
    if (JUMP_P(insn) && !return_in(insn)) {
        // (set (pc) (if_then_else ... (return) (pc))): no target that is known here has it.
        subrtx_iterator::array_type array;
        FOR_EACH_SUBRTX(part, array, PATTERN(insn), ALL)
        if (ANY_RETURN_P(*part))
            return "returns on a condition";
        return nullptr;
    }
    // A return that does something before it: restores registers out of line (-mcall-ms2sysv-xlogues).
    if (return_in(insn) && GET_CODE(PATTERN(insn)) == PARALLEL)
        for (int i = 1; i < XVECLEN(PATTERN(insn), 0); i++)
            if (GET_CODE(XVECEXP(PATTERN(insn), 0, i)) == SET)
                return "a return restores registers by itself";
    return nullptr;
}

/// Where the ABI has a function's result.
Result result_of(tree function)
{
    Result result;
    tree declaration = DECL_RESULT(function);
    tree type = TREE_TYPE(declaration);
    if (VOID_TYPE_P(type)) {
        result.where = Result::Where::none;
        return result;
    }
    const HOST_WIDE_INT size = int_size_in_bytes(type);
    result.size = size > 0 ? static_cast<uint64_t>(size) : 0;
    if (INTEGRAL_TYPE_P(type) || POINTER_TYPE_P(type))
        result.sign = TYPE_UNSIGNED(type) ? Result::Sign::is_unsigned : Result::Sign::is_signed;
    if (aggregate_value_p(declaration, function)) {
        result.where = Result::Where::memory;
        return result;
    }
    rtx value = targetm.calls.function_value(type, function, true);
    if (!value)
        return result;
    if (REG_P(value)) {
        result.where = target::result_in(value);
        return result;
    }
    if (GET_CODE(value) != PARALLEL)
        return result;
    unsigned integers = 0, vectors = 0, others = 0;
    for (int i = 0; i < XVECLEN(value, 0); i++) {
        rtx part = XEXP(XVECEXP(value, 0, i), 0);
        if (!part) // in memory as well
            others++;
        else if (target::result_in(part) == Result::Where::one_register)
            integers++;
        else if (target::result_in(part) == Result::Where::vector)
            vectors++;
        else
            others++;
    }
    result.where = where_of(integers, vectors, others);
    return result;
}

} // namespace

rtx gen_asm(const std::string& text)
{
    // BUILTINS_LOCATION: `final` prints "# line file" for others, and crashes for none.
    return gen_rtx_ASM_INPUT_loc(VOIDmode, ggc_strdup(text.c_str()), BUILTINS_LOCATION);
}

WaysOut look_at_exits(rtx_insn* first)
{
    WaysOut ways;
    ways.obstacle = target::exit_obstacle();
    if (crtl->calls_eh_return)
        ways.obstacle = "__builtin_eh_return: returns to another place than its caller";
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (!INSN_P(insn) || DEBUG_INSN_P(insn))
            continue;
        if (const char* why = obstacle(insn))
            ways.obstacle = why;
        if (is_way_out(insn))
            ways.count++;
    }
    ways.at_entry = first && is_way_out(first);
    return ways;
}

void make_exits(tree function, const Exits& exits, const std::string& function_address,
                const std::string& section_label, std::string (*next_label)())
{
    ExitRecord record;
    record.added = exits.add;
    record.bound = exits.bound;
    record.result = result_of(function);
    std::string section = section_label;
    bool other_part = false; // of a split function: in a section of its own
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS) {
            other_part = true;
            section.clear();
        }
        if (!INSN_P(insn) || !is_way_out(insn))
            continue;
        const std::string label = next_label();
        if (other_part && section.empty())
            section = label;
        record.tail_call = is_tail_call(insn);
        emit_insn_before(gen_asm(exit_text(target::arch, record, label, function_address, section)), insn);
    }
}

} // namespace fastprobe
