// SPDX-License-Identifier: GPL-3.0-or-later
// Function entries on x86-64.
#include "target_entry.h"

namespace fastprobe::target {

const Arch arch = Arch::x86_64;

const char* unsupported()
{
    if (!TARGET_64BIT)
        return "-m32: only x86-64 is supported";
    if (TARGET_X32)
        return "-mx32: only the 64-bit ABI is supported";
    return nullptr;
}

const char* skip_reason(tree function)
{
    if (lookup_attribute("interrupt", TYPE_ATTRIBUTES(TREE_TYPE(function))))
        return "interrupt handler: no return address at the entry";
    if (lookup_attribute("ms_hook_prologue", DECL_ATTRIBUTES(function)))
        return "ms_hook_prologue: the hot-patch bytes have to stay first";
    if (crtl->profile && flag_fentry)
        return "-mfentry: the call comes before the first instruction";
    return nullptr;
}

// call 1f; 2: pause; lfence; jmp 2b; 1: ...; ret. A way out is no ret or jmp behind its site then; and indirect calls and jumps within the
// function have a ret in them that is no way out.
const char* exit_obstacle()
{
    if (cfun->machine->function_return_type == indirect_branch_thunk_inline)
        return "-mfunction-return=thunk-inline: a return is several instructions";
    if (cfun->machine->indirect_branch_type == indirect_branch_thunk_inline)
        return "-mindirect-branch=thunk-inline: a ret may be part of an indirect call";
    return nullptr;
}

// (unspec_volatile [(const_int 0)] UNSPECV_NOP_ENDBR)
bool is_landing_pad(rtx_insn* insn)
{
    return NONJUMP_INSN_P(insn) && GET_CODE(PATTERN(insn)) == UNSPEC_VOLATILE
        && XINT(PATTERN(insn), 1) == UNSPECV_NOP_ENDBR;
}

const char* landing_pad_before(rtx_insn*)
{
    return nullptr;
}

// (set (mem:DI (pre_dec:DI (reg:DI sp))) (reg:DI bp)), in a prologue together with
// (clobber (mem:BLK (scratch))). APX's push2 and pushp have other patterns and are no match.
static First classify_push(rtx pattern)
{
    if (GET_CODE(pattern) == PARALLEL) {
        for (int i = 1; i < XVECLEN(pattern, 0); i++)
            if (GET_CODE(XVECEXP(pattern, 0, i)) != CLOBBER)
                return First::other;
        pattern = XVECEXP(pattern, 0, 0);
    }
    if (GET_CODE(pattern) != SET || !MEM_P(SET_DEST(pattern)) || GET_MODE(SET_DEST(pattern)) != DImode)
        return First::other;
    rtx address = XEXP(SET_DEST(pattern), 0);
    rtx source = SET_SRC(pattern);
    if (GET_CODE(address) != PRE_DEC || XEXP(address, 0) != stack_pointer_rtx || !REG_P(source))
        return First::other;
    if (REGNO(source) == BP_REG)
        return First::frame_push;
    return LEGACY_INT_REGNO_P(REGNO(source)) || REX_INT_REGNO_P(REGNO(source)) ? First::other_push : First::other;
}

// (call (mem:QI (symbol_ref)) ...), or a set of a register to it: call rel32, and jmp rel32 when it is a tail call.
// TLS calls are parallels and begin with another instruction; without a PLT the call goes through memory.
static First classify_call(rtx_insn* insn)
{
    rtx call = PATTERN(insn);
    if (GET_CODE(call) == SET)
        call = SET_SRC(call);
    if (GET_CODE(call) != CALL || GET_CODE(XEXP(XEXP(call, 0), 0)) != SYMBOL_REF)
        return First::other;
    rtx symbol = XEXP(XEXP(call, 0), 0);
    tree callee = SYMBOL_REF_DECL(symbol);
    bool through_memory =
        !SYMBOL_REF_LOCAL_P(symbol) && (!flag_plt || (callee && lookup_attribute("noplt", DECL_ATTRIBUTES(callee))));
    if (through_memory || ix86_cmodel == CM_LARGE || ix86_cmodel == CM_LARGE_PIC)
        return First::other;
    return SIBLING_CALL_P(insn) ? First::branch : First::call;
}

First classify(rtx_insn* insn)
{
    if (CALL_P(insn))
        return classify_call(insn);
    if (JUMP_P(insn))
        return simplejump_p(insn) ? First::branch : First::other;
    if (!NONJUMP_INSN_P(insn))
        return First::other;
    if (PATTERN(insn) == const0_rtx)
        return First::nop; // (const_int 0): GCC's own nop
    return classify_push(PATTERN(insn));
}

Result::Where result_in(const_rtx reg)
{
    if (GENERAL_REGNO_P(REGNO(reg)))
        return REG_NREGS(reg) == 1 ? Result::Where::one_register : Result::Where::pair;
    return SSE_REGNO_P(REGNO(reg)) && REG_NREGS(reg) == 1 ? Result::Where::vector : Result::Where::other;
}

const char* describe(First first)
{
    switch (first) {
    case First::nop: return "nop";
    case First::frame_push: return "push %rbp";
    case First::other_push: return "push";
    case First::branch: return "jmp";
    case First::call: return "call";
    default: return nullptr;
    }
}

} // namespace fastprobe::target
