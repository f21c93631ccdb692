/* SPDX-License-Identifier: BSD-2-Clause
 * What Linux does with a uprobe, by its own functions: those of gen/uprobes.inc and the decoder. */
#include "kernel.h"
/* The decoder, all of it. */
#define __KERNEL__
#include "insn.c"
#undef __KERNEL__
#include "inat.c"
#ifdef __has_include
#if __has_include(<asm/nops.h>)
#define __stringify_1(x...) #x
#define __stringify(x...) __stringify_1(x)
#define _ASM_BYTES(x, ...) ".byte " __stringify(x, ##__VA_ARGS__) ";"
#define __ASSEMBLY__
#define __ASSEMBLER__ 1
#include <asm/nops.h>
#undef __ASSEMBLER__
#undef __ASSEMBLY__
#endif
#endif

static const u8 nop1[] = {BYTES_NOP1}, nop2[] = {BYTES_NOP2}, nop3[] = {BYTES_NOP3}, nop4[] = {BYTES_NOP4},
                nop5[] = {BYTES_NOP5}, nop6[] = {BYTES_NOP6}, nop7[] = {BYTES_NOP7}, nop8[] = {BYTES_NOP8};
static const u8* const x86_nops[] = {0, nop1, nop2, nop3, nop4, nop5, nop6, nop7, nop8};

struct uprobe_xol_ops {
    int unused;
};
struct mm_struct {
    bool is_64bit;
};
struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, sp;
};
struct arch_uprobe {
    u8 insn[16], ixol[16];
    unsigned long flags;
    const struct uprobe_xol_ops* ops;
    struct {
        s32 offs;
        u8 ilen, opc1;
    } branch;
    struct {
        u8 fixups, ilen;
    } defparam;
    struct {
        u8 reg_offset, ilen;
    } push;
};
typedef u8 uprobe_opcode_t;
enum { ARCH_UPROBE_FLAG_CAN_OPTIMIZE };
#define CALL_INSN_SIZE 5 /* asm/text-patching.h */
static void set_bit(int bit, unsigned long* flags)
{
    *flags |= 1UL << bit;
}
static bool is_64bit_mm(struct mm_struct* mm)
{
    return mm->is_64bit;
}
static void riprel_analyze(struct arch_uprobe* auprobe, struct insn* insn) {}
#include "uprobes.inc"

/* Numbers of enum Verdict: reject, xol, emulate, optimize. */
int linux_x86(bool is_64bit, const u8* code, unsigned long address)
{
    struct mm_struct mm = {is_64bit};
    struct arch_uprobe auprobe;

    memset(&auprobe, 0, sizeof auprobe);
    memcpy(auprobe.insn, code, 16);
    if (code[0] == 0xcc) /* prepare_uprobe(), is_trap_insn() */
        return 1;
    if (arch_uprobe_analyze_insn(&auprobe, &mm, address))
        return 1;
    if (auprobe.flags)
        return 7;
    return auprobe.ops == &default_xol_ops ? 4 : 5;
}
