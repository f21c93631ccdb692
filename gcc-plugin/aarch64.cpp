// SPDX-License-Identifier: GPL-3.0-or-later
// Function entries on arm64.
#include "target_entry.h"

namespace fastprobe::target {

const Arch arch = Arch::arm64;

const char* unsupported()
{
    if (TARGET_ILP32)
        return "-mabi=ilp32: only the LP64 ABI is supported";
    if (BYTES_BIG_ENDIAN)
        return "-mbig-endian: only little-endian is supported";
    return nullptr;
}

const char* skip_reason(tree)
{
    return nullptr;
}

const char* exit_obstacle()
{
    return nullptr;
}

// (unspec_volatile [(const_int 0)] UNSPECV_BTI_C), and the like.
bool is_landing_pad(rtx_insn* insn)
{
    if (!NONJUMP_INSN_P(insn) || GET_CODE(PATTERN(insn)) != UNSPEC_VOLATILE)
        return false;
    switch (XINT(PATTERN(insn), 1)) {
    case UNSPECV_BTI_NOARG:
    case UNSPECV_BTI_C:
    case UNSPECV_BTI_J:
    case UNSPECV_BTI_JC: return true;
    default: return false;
    }
}

// (set (reg:DI lr) (unspec:DI [(reg:DI lr) (reg:DI sp)] UNSPEC_PACIASP))
static bool signs_return_address(rtx_insn* insn)
{
    if (!NONJUMP_INSN_P(insn) || GET_CODE(PATTERN(insn)) != SET)
        return false;
    rtx source = SET_SRC(PATTERN(insn));
    return GET_CODE(source) == UNSPEC && (XINT(source, 1) == UNSPEC_PACIASP || XINT(source, 1) == UNSPEC_PACIBSP);
}

// paciasp is a landing pad as well, but behind it x30 is signed: a return probe there would replace x30 by an unsigned
// address, and the function's autiasp would make that address unusable. So the nop goes before paciasp, and if paciasp
// was the landing pad, bti c takes over. "hint 34" is bti c for every assembler.
const char* landing_pad_before(rtx_insn* first)
{
    return signs_return_address(first) && compat_bti_enabled() ? "hint\t34" : nullptr;
}

// stp x29, x30, [sp, #-N]!:
// (parallel [(set sp (plus sp -N)) (set (mem (plus sp -N)) x29) (set (mem (plus sp -N+8)) x30)])
static bool is_frame_push(rtx pattern)
{
    if (GET_CODE(pattern) != PARALLEL || XVECLEN(pattern, 0) != 3)
        return false;
    rtx sp = XVECEXP(pattern, 0, 0);
    if (GET_CODE(sp) != SET || SET_DEST(sp) != stack_pointer_rtx)
        return false;
    for (int i = 1; i < 3; i++) {
        rtx store = XVECEXP(pattern, 0, i);
        if (GET_CODE(store) != SET || !MEM_P(SET_DEST(store)) || !REG_P(SET_SRC(store))
            || REGNO(SET_SRC(store)) != (i == 1 ? R29_REGNUM : R30_REGNUM))
            return false;
    }
    return true;
}

// adrp x0, symbol: (set (reg) (high (symbol_ref))) in the small code model, as long as it is no TLS symbol.
static bool is_page_address(rtx pattern)
{
    if (GET_CODE(pattern) != SET || GET_CODE(SET_SRC(pattern)) != HIGH)
        return false;
    rtx symbol = XEXP(SET_SRC(pattern), 0);
    if (GET_CODE(symbol) == CONST && GET_CODE(XEXP(symbol, 0)) == PLUS)
        symbol = XEXP(XEXP(symbol, 0), 0);
    return GET_CODE(symbol) == SYMBOL_REF && SYMBOL_REF_TLS_MODEL(symbol) == TLS_MODEL_NONE
        && (aarch64_cmodel == AARCH64_CMODEL_SMALL || aarch64_cmodel == AARCH64_CMODEL_SMALL_PIC);
}

// cbz and tbz are emulated, but a tbz whose target is 32 KiB away or more becomes tst and b.cond. Lengths before branch
// shortening are the longest possible ones.
static bool within_reach_of_tbz()
{
    int bytes = 0;
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn))
        if (NONDEBUG_INSN_P(insn) && (bytes += get_attr_length(insn)) >= 32000)
            return false;
    return true;
}

First classify(rtx_insn* insn)
{
    // b, or br: both emulated. Other calls may begin with something else (TLS descriptors), and hardly ever come first.
    if (CALL_P(insn))
        return SIBLING_CALL_P(insn) ? First::branch : First::other;
    // ret is emulated too. Not retaa, but that ends functions that begin with paciasp.
    if (JUMP_P(insn)) {
        if (simplejump_p(insn) || ANY_RETURN_P(PATTERN(insn)))
            return First::branch;
        return any_condjump_p(insn) && onlyjump_p(insn) && within_reach_of_tbz() ? First::branch : First::other;
    }
    if (!NONJUMP_INSN_P(insn))
        return First::other;
    if (PATTERN(insn) == const0_rtx)
        return First::nop;
    if (is_frame_push(PATTERN(insn)))
        return First::frame_push;
    return is_page_address(PATTERN(insn)) ? First::address : First::other;
}

Result::Where result_in(const_rtx reg)
{
    if (GP_REGNUM_P(REGNO(reg)))
        return REG_NREGS(reg) == 1 ? Result::Where::one_register : Result::Where::pair;
    return FP_REGNUM_P(REGNO(reg)) && REG_NREGS(reg) == 1 ? Result::Where::vector : Result::Where::other;
}

const char* describe(First first)
{
    switch (first) {
    case First::nop: return "nop";
    case First::frame_push: return "stp x29, x30, [sp, #-N]!";
    case First::address: return "adrp";
    default: return nullptr;
    }
}

} // namespace fastprobe::target
