/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fastsdt/recognize.h: what stands at a probe site or function entry, and what has become of it.
 *
 * Freestanding C89: no libc, no allocation, no loop over data, no read past the given size. For kernels, BPF
 * loaders, debuggers and C++ alike:
 *
 *     struct fastsdt_recognized r;
 *     fastsdt_recognize(&r, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_OTHER, bytes, bytes_left_in_page);
 *     if (r.layout == FASTSDT_LAYOUT_NOP1_NOP10 && r.state == FASTSDT_STATE_PRISTINE && !r.breakpoints)
 *         patch(bytes + r.lead + r.patch_offset, r.patch_length);
 *
 * The bytes of the layouts come from fastsdt.h. What others write over them is defined here.
 */
#ifndef FASTSDT_RECOGNIZE_H
#define FASTSDT_RECOGNIZE_H

#include "note.h"

/* Instruction sets, by their ELF e_machine. */
#define FASTSDT_MACHINE_I386 3
#define FASTSDT_MACHINE_MIPS 8
#define FASTSDT_MACHINE_PPC 20
#define FASTSDT_MACHINE_PPC64 21
#define FASTSDT_MACHINE_S390 22
#define FASTSDT_MACHINE_ARM 40
#define FASTSDT_MACHINE_X86_64 62
#define FASTSDT_MACHINE_ARM64 183
#define FASTSDT_MACHINE_RISCV 243
#define FASTSDT_MACHINE_LOONGARCH 258

/* What has become of the patchable bytes. Drawn for nop10, first byte at the left; d0-d3: a 32-bit displacement.
 * A breakpoint on the first of them does not change the state; `breakpoints` reports it. */
#define FASTSDT_STATE_UNKNOWN 0    /* nothing that is known */
#define FASTSDT_STATE_PRISTINE 1   /* 66 2e 0f 1f 84 00 00 00 00 00  as compiled */
#define FASTSDT_STATE_CALL 2       /* e8 d0 d1 d2 d3                 over a nop5: Linux 6.18 to 7.1 */
#define FASTSDT_STATE_LEA_CALL 3   /* 48 8d 64 24 80 e8 d0 d1 d2 d3  over a nop10: Linux 7.2 and later */
#define FASTSDT_STATE_STALE_CALL 4 /* 66 2e 0f 1f 84 e8 d0 d1 d2 d3  after Linux 7.2 detached: again a nop10 */
#define FASTSDT_STATE_OTHER_TAIL 5 /* 66 2e 0f 1f 84 and five others: a nop10 for the kernel, not for libbpf */
#define FASTSDT_STATE_JUMP 6       /* 66 2e 48 e9 d0 d1 d2 d3        a user-space engine's jump (arm64: b over a nop) */
#define FASTSDT_STATE_DAMAGED                                                                                          \
    7 /* 66 8d 64 24 80                 a kernel put back the first byte of a nop10 that
                                    * somebody else had turned into lea and call: executing it breaks %rsp */

/* Where a breakpoint stands: int3 on x86, any brk on arm64. On x86 it hides one byte, and the state is what the bytes
 * behind it show. */
#define FASTSDT_BREAKPOINT_PAD 1  /* on the landing pad */
#define FASTSDT_BREAKPOINT_NOP1 2 /* on the nop1 before the patchable bytes */
#define FASTSDT_BREAKPOINT_PATCH                                                                                       \
    4 /* on the first patchable byte, or on the instruction that is the layout. With
                                    * FASTSDT_STATE_LEA_CALL or _CALL: the kernel is in the middle of an update */

struct fastsdt_recognized {
    unsigned char layout;       /* FASTSDT_LAYOUT_*; _OTHER: none */
    unsigned char state;        /* FASTSDT_STATE_* */
    unsigned char breakpoints;  /* FASTSDT_BREAKPOINT_*, or-ed */
    unsigned char lead;         /* bytes of a landing pad before the layout: endbr64, endbr32, bti, paciasp, pacibsp */
    unsigned char length;       /* bytes of the layout; 0: none */
    unsigned char patch_offset; /* first patchable byte, from the layout's first byte */
    unsigned char patch_length; /* patchable bytes; 0: none but for a breakpoint on the first byte */
    unsigned char rel_end;      /* calls and jumps: their target is bytes + rel_end + rel; 0: there is none */
    int rel;
    int operand; /* push: register number (rax 0 to r15 15), -1: hidden; stp: bytes added to
                                 * sp, e.g. -16, 0: hidden */
};

/* ---- The rest is inside. ---- */

#ifdef __bpf__ /* no more than five arguments to a function there, unless it is inlined */
#define FASTSDT__INLINE static __inline__ __attribute__((__always_inline__))
#else
#define FASTSDT__INLINE static __inline__
#endif

#define FASTSDT__INT3 0xcc
#define FASTSDT__CALL 0xe8
/* arch/x86/kernel/uprobes.c, lea_rsp: lea -0x80(%rsp), %rsp */
#define FASTSDT__LEA 0x48, 0x8d, 0x64, 0x24, 0x80
/* cs data16 rex.w jmp rel32: begins like nop10, so that a thread sees one or the other */
#define FASTSDT__JUMP 0x66, 0x2e, 0x48, 0xe9

FASTSDT__INLINE int fastsdt__same(const unsigned char* a, const unsigned char* b, unsigned count)
{
    unsigned i;
    for (i = 0; i < count; i++) /* count is a constant of the caller, at most 9 */
        if (a[i] != b[i])
            return 0;
    return 1;
}

FASTSDT__INLINE unsigned long fastsdt__le32(const unsigned char* p)
{
    return p[0] | (unsigned long)p[1] << 8 | (unsigned long)p[2] << 16 | (unsigned long)p[3] << 24;
}

FASTSDT__INLINE int fastsdt__signed(unsigned long value, unsigned bits)
{
    unsigned long top = 1UL << (bits - 1);
    return value & top ? -(int)(2 * (top - 1) + 1 - value) - 1 : (int)value;
}

/* The ten bytes at q: a state, or 0. `hidden`: q[0] is a breakpoint. */
FASTSDT__INLINE int fastsdt__nop10_state(const unsigned char* q, const unsigned char* nop10, int hidden)
{
    static const unsigned char lea[] = {FASTSDT__LEA}, jump[] = {FASTSDT__JUMP};

    if ((hidden || q[0] == nop10[0]) && fastsdt__same(q + 1, nop10 + 1, 4)) {
        if (fastsdt__same(q + 5, nop10 + 5, 5))
            return FASTSDT_STATE_PRISTINE;
        return q[5] == FASTSDT__CALL ? FASTSDT_STATE_STALE_CALL : FASTSDT_STATE_OTHER_TAIL;
    }
    if ((hidden || q[0] == jump[0]) && fastsdt__same(q + 1, jump + 1, 3))
        return FASTSDT_STATE_JUMP;
    if (fastsdt__same(q + 1, lea + 1, 4)) {
        if ((hidden || q[0] == lea[0]) && q[5] == FASTSDT__CALL)
            return FASTSDT_STATE_LEA_CALL;
        if (q[0] == nop10[0])
            return FASTSDT_STATE_DAMAGED;
    }
    return 0;
}

/* If this layout stands at p, describes it in *r, unless *r has a longer one. */
FASTSDT__INLINE void fastsdt__try(struct fastsdt_recognized* r, int expected, const unsigned char* p,
                                  unsigned long size, const unsigned char* bytes, unsigned length, int layout,
                                  unsigned offset, unsigned patch)
{
    const unsigned char* q = p + offset;
    int breakpoints = r->breakpoints & FASTSDT_BREAKPOINT_PAD, hidden, state = 0;
    unsigned rel_at = 0;

    if (size < length || (r->layout == expected && r->length) || (r->length > length && layout != expected))
        return;
    if (offset == 1 && p[0] == FASTSDT__INT3)
        breakpoints |= FASTSDT_BREAKPOINT_NOP1;
    else if (offset == 1 && p[0] != bytes[0])
        return;
    hidden = q[0] == FASTSDT__INT3;
    if (hidden)
        breakpoints |= FASTSDT_BREAKPOINT_PATCH;

    if (patch == 10) {
        state = fastsdt__nop10_state(q, bytes + offset, hidden);
    } else if (patch == 1) {
        /* The bytes behind a breakpoint do not tell what it hides. */
        if (q[0] == bytes[0] || (hidden && layout == expected))
            state = FASTSDT_STATE_PRISTINE;
    } else if ((hidden || q[0] == bytes[offset]) && fastsdt__same(q + 1, bytes + offset + 1, patch - 1)) {
        state = FASTSDT_STATE_PRISTINE;
    } else if (patch == 5 && layout == expected && (hidden || q[0] == FASTSDT__CALL)) {
        /* A call behind a nop1 is common; only `expected` can say that a nop5 was there. */
        state = FASTSDT_STATE_CALL;
    }
    if (!state)
        return;

    r->layout = (unsigned char)layout;
    r->state = (unsigned char)state;
    r->breakpoints = (unsigned char)breakpoints;
    r->length = (unsigned char)length;
    r->patch_offset = (unsigned char)offset;
    r->patch_length = (unsigned char)patch;
    if (state == FASTSDT_STATE_LEA_CALL || state == FASTSDT_STATE_STALE_CALL)
        rel_at = offset + 6;
    else if (state == FASTSDT_STATE_JUMP)
        rel_at = offset + 4;
    else if (state == FASTSDT_STATE_CALL && !hidden) /* during an update the displacement may be half written */
        rel_at = offset + 1;
    r->rel_end = (unsigned char)(rel_at ? r->lead + rel_at + 4 : 0);
    r->rel = rel_at ? fastsdt__signed(fastsdt__le32(p + rel_at), 32) : 0;
}

FASTSDT__INLINE void fastsdt__plain(struct fastsdt_recognized* r, int layout, unsigned length, unsigned patch)
{
    r->layout = (unsigned char)layout;
    r->state = FASTSDT_STATE_PRISTINE;
    r->length = (unsigned char)length;
    r->patch_length = (unsigned char)patch;
}

FASTSDT__INLINE void fastsdt__x86(struct fastsdt_recognized* r, int expected, const unsigned char* p,
                                  unsigned long size, int x86_64)
{
    /* endbr64 is f3 0f 1e fa, endbr32 ends in fb. */
    if (size >= 4 && (p[0] == 0xf3 || p[0] == FASTSDT__INT3) && p[1] == 0x0f && p[2] == 0x1e && (p[3] | 1) == 0xfb) {
        if (p[0] == FASTSDT__INT3)
            r->breakpoints = FASTSDT_BREAKPOINT_PAD;
        r->lead = 4;
        p += 4;
        size -= 4;
    }
    if (!size)
        return;
    if (x86_64) {
#define FASTSDT__TRY(name, rewritten, text)                                                                            \
    {                                                                                                                  \
        static const unsigned char bytes[] = {FASTSDT_BYTES_##name};                                                   \
        fastsdt__try(r, expected, p, size, bytes, sizeof bytes, FASTSDT_SHAPE_##name);                                 \
    }
        FASTSDT_LAYOUTS(FASTSDT__TRY)
#undef FASTSDT__TRY
    } else {
        static const unsigned char bytes[] = {FASTSDT_BYTES_nop1};
        fastsdt__try(r, expected, p, size, bytes, sizeof bytes, FASTSDT_SHAPE_nop1);
    }
    if (r->length)
        return;

    if (x86_64 && (p[0] & 0xf8) == 0x50) {
        fastsdt__plain(r, FASTSDT_LAYOUT_PUSH, 1, 0);
        r->operand = p[0] & 7;
    } else if (x86_64 && size >= 2 && p[0] == 0x41 && (p[1] & 0xf8) == 0x50) {
        fastsdt__plain(r, FASTSDT_LAYOUT_PUSH, 2, 0);
        r->operand = 8 + (p[1] & 7);
    } else if (p[0] == FASTSDT__INT3) {
        r->breakpoints |= FASTSDT_BREAKPOINT_PATCH;
        if (x86_64 && expected == FASTSDT_LAYOUT_PUSH) {
            fastsdt__plain(r, FASTSDT_LAYOUT_PUSH, 1, 0);
            r->operand = -1; /* the hidden byte may be the register or the prefix of one */
        }
    }
}

FASTSDT__INLINE void fastsdt__arm64(struct fastsdt_recognized* r, int expected, const unsigned char* p,
                                    unsigned long size)
{
    unsigned long insn;

    if (size < 4)
        return;
    insn = fastsdt__le32(p);
    /* bti, bti c, bti j, bti jc; paciasp; pacibsp. */
    if ((insn & 0xffffff3fUL) == 0xd503241fUL || insn == 0xd503233fUL || insn == 0xd503237fUL) {
        r->lead = 4;
        if (size < 8)
            return;
        p += 4;
        insn = fastsdt__le32(p);
    }
    if (insn == 0xd503201fUL) {
        fastsdt__plain(r, FASTSDT_LAYOUT_NOP, 4, 4);
    } else if (expected == FASTSDT_LAYOUT_NOP && (insn & 0xfc000000UL) == 0x14000000UL) {
        /* Branches are common; only `expected` can say that a nop was there. The target counts from the branch. */
        fastsdt__plain(r, FASTSDT_LAYOUT_NOP, 4, 4);
        r->state = FASTSDT_STATE_JUMP;
        r->rel_end = (unsigned char)(r->lead + 4);
        r->rel = 4 * fastsdt__signed(insn & 0x3ffffffUL, 26) - 4;
    } else if ((insn & 0xffe07fffUL) == 0xa9a07bfdUL) { /* imm7 negative */
        fastsdt__plain(r, FASTSDT_LAYOUT_STP, 4, 0);
        r->operand = 8 * fastsdt__signed(insn >> 15 & 0x7f, 7);
    } else if ((insn & 0xffe0001fUL) == 0xd4200000UL) { /* brk, which hides the whole instruction */
        r->breakpoints |= FASTSDT_BREAKPOINT_PATCH;
        if (expected == FASTSDT_LAYOUT_NOP || expected == FASTSDT_LAYOUT_STP)
            fastsdt__plain(r, expected, 4, expected == FASTSDT_LAYOUT_NOP ? 4 : 0);
    }
}

/* The architectures where only the native nop is known. */
FASTSDT__INLINE void fastsdt__nop(struct fastsdt_recognized* r, int machine, const unsigned char* p, unsigned long size)
{
    unsigned long word = size >= 4 ? fastsdt__le32(p) : 0;
    unsigned length = 0;

    switch (machine) {
    case FASTSDT_MACHINE_ARM: /* nop or mov r0, r0, and thumb's nop */
        if (size >= 4 && (word == 0xe320f000UL || word == 0xe1a00000UL))
            length = 4;
        else if (size >= 2 && p[0] == 0x00 && p[1] == 0xbf)
            length = 2;
        break;
    case FASTSDT_MACHINE_RISCV: /* addi zero, zero, 0; c.nop */
        if (size >= 4 && word == 0x00000013UL)
            length = 4;
        else if (size >= 2 && p[0] == 0x01 && p[1] == 0x00)
            length = 2;
        break;
    case FASTSDT_MACHINE_PPC: /* ori 0, 0, 0, in either byte order */
    case FASTSDT_MACHINE_PPC64:
        if (size >= 4 && (word == 0x60000000UL || word == 0x00000060UL))
            length = 4;
        break;
    case FASTSDT_MACHINE_S390: /* nop: bc 0, 0; nopr: bcr 0, %r0 or %r7 */
        if (size >= 4 && word == 0x00000047UL)
            length = 4;
        else if (size >= 2 && p[0] == 0x07 && (p[1] == 0x00 || p[1] == 0x07))
            length = 2;
        break;
    case FASTSDT_MACHINE_LOONGARCH: /* andi $zero, $zero, 0 */
        if (size >= 4 && word == 0x03400000UL)
            length = 4;
        break;
    case FASTSDT_MACHINE_MIPS: /* sll zero, zero, 0 */
        if (size >= 4 && word == 0)
            length = 4;
        break;
    }
    if (length)
        fastsdt__plain(r, FASTSDT_LAYOUT_NOP, length, length);
}

/* Says in *r what stands at `bytes`.
 *   machine   FASTSDT_MACHINE_* or the file's e_machine; others are never recognized
 *   expected  FASTSDT_LAYOUT_* that the note or the file's bytes give, or FASTSDT_LAYOUT_OTHER. It settles what the
 *             bytes alone cannot: a breakpoint that hides a whole instruction, a call over a nop5, a nop1 followed by
 *             a NOP of the program's own. If something else stands there, that is reported.
 *   size      bytes that may be read. Give at most those left in the page if the answer has to hold for a patch
 *             that must not cross one: a layout that does not fit is not recognized.
 * Returns r->layout. */
FASTSDT__INLINE int fastsdt_recognize(struct fastsdt_recognized* r, int machine, int expected,
                                      const unsigned char* bytes, unsigned long size)
{
    r->layout = FASTSDT_LAYOUT_OTHER;
    r->state = FASTSDT_STATE_UNKNOWN;
    r->breakpoints = r->lead = r->length = r->patch_offset = r->patch_length = r->rel_end = 0;
    r->rel = r->operand = 0;

    if (machine == FASTSDT_MACHINE_X86_64 || machine == FASTSDT_MACHINE_I386)
        fastsdt__x86(r, expected, bytes, size, machine == FASTSDT_MACHINE_X86_64);
    else if (machine == FASTSDT_MACHINE_ARM64)
        fastsdt__arm64(r, expected, bytes, size);
    else
        fastsdt__nop(r, machine, bytes, size);
    return r->layout;
}

#endif /* FASTSDT_RECOGNIZE_H */
