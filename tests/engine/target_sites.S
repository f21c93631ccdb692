/* SPDX-License-Identifier: BSD-2-Clause
 *
 * int pass_NAME(void): passes the site target:NAME in the middle of a function that uses its red zone, with known values
 * in the registers that a stub is most likely to use, and with the carry and the overflow flag set. Returns 0 if the site
 * changed nothing of that.
 */
#include <fastsdt.h>

#if defined(__aarch64__)
/* x9 gets the value that all other registers get. The flags N and V are set. */
    .macro known
    movz x9, #0x3c3c; movk x9, #0xc3c3, lsl #16; movk x9, #0xa5a5, lsl #32; movk x9, #0x5a5a, lsl #48
    mov x10, sp
    movz x8, #0x9000, lsl #16
    msr nzcv, x8
    .irp i, 0,1,2,3,4,5,6,7,8,11,12,13,14,15,16,17
    mov x\i, x9
    .endr
    .endm
    .macro as_before
    .irp i, 1,2,3,4,5,6,7,8,11,12,13,14,15,16,17
    eor x\i, x\i, x9
    .endr
    eor x0, x0, x9
    .irp i, 1,2,3,4,5,6,7,8,11,12,13,14,15,16,17
    orr x0, x0, x\i
    .endr
    mrs x1, nzcv
    eor x1, x1, #0x80000000
    eor x1, x1, #0x10000000
    orr x0, x0, x1
    mov x1, sp
    eor x1, x1, x10
    orr x0, x0, x1
    movz x1, #0x3c3c; movk x1, #0xc3c3, lsl #16; movk x1, #0xa5a5, lsl #32; movk x1, #0x5a5a, lsl #48
    eor x1, x1, x9
    orr x0, x0, x1
    cmp x0, #0
    cset w0, ne
    .endm

#define PASS(name)                                                                                                     \
    .globl pass_##name; .type pass_##name, %function;                                                                  \
pass_##name:                                                                                                           \
    .cfi_startproc; known;                                                                                             \
    FASTSDT(target, name);                                                                                             \
    as_before; ret;                                                                                                    \
    .cfi_endproc; .size pass_##name, . - pass_##name

    .text

    .globl pass_many; .type pass_many, %function
pass_many:
    .cfi_startproc
    known
    .rept 256
    FASTSDT(target, many)
    .endr
    as_before
    ret
    .cfi_endproc; .size pass_many, . - pass_many

/* long keep_vectors(long rounds): fills the SVE registers, spins, and answers 1 if the end of one has changed. */
    .arch_extension sve
    .globl keep_vectors; .type keep_vectors, %function
keep_vectors:
    .cfi_startproc
    stp d8, d9, [sp, #-64]!
    stp d10, d11, [sp, #16]
    stp d12, d13, [sp, #32]
    stp d14, d15, [sp, #48]
    movz x9, #0x3c3c
    mov x12, #0
    ptrue p0.d
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    dup z\i\().d, x9
    .endr
1:  mov x10, #1000
2:  subs x10, x10, #1
    b.ne 2b
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    lastb x11, p0, z\i\().d
    eor x11, x11, x9
    orr x12, x12, x11
    .endr
    subs x0, x0, #1
    b.ne 1b
    ldp d10, d11, [sp, #16]
    ldp d12, d13, [sp, #32]
    ldp d14, d15, [sp, #48]
    ldp d8, d9, [sp], #64
    cmp x12, #0
    cset x0, ne
    ret
    .cfi_endproc; .size keep_vectors, . - keep_vectors
#else
#define POISON 0x5a5aa5a5c3c33c3c
#define SET(r) movabs $POISON, r
#define CHECK(r) xor %r11, r; or r, %r10

#define PASS(name)                                                                                                     \
    .globl pass_##name; .type pass_##name, @function;                                                                  \
pass_##name:                                                                                                           \
    .cfi_startproc; SET(%rax);                                                                                         \
    mov %rax, -8(%rsp); mov %rax, -64(%rsp); mov %rax, -128(%rsp);                                                     \
    SET(%rcx); SET(%rdx); SET(%rsi); SET(%rdi); SET(%r8); SET(%r9); SET(%r11); mov %rsp, %r10;                         \
    mov $0x7f, %al; add $1, %al; stc; SET(%rax);                                                                       \
    FASTSDT(target, name);                                                                                             \
    jnc 1f; jno 1f; sub %rsp, %r10; CHECK(%rax); SET(%rax); xor %rax, %r11; or %r11, %r10; SET(%r11); CHECK(%rcx);     \
    CHECK(%rdx); CHECK(%rsi); CHECK(%rdi); CHECK(%r8); CHECK(%r9);                                                     \
    mov -8(%rsp), %rax; CHECK(%rax); mov -64(%rsp), %rax; CHECK(%rax); mov -128(%rsp), %rax; CHECK(%rax);              \
    xor %eax, %eax; test %r10, %r10; setne %al; ret;                                                                   \
1:  mov $1, %eax; ret;                                                                                                 \
    .cfi_endproc; .size pass_##name, . - pass_##name

    .text

/* int pass_many(void): passes all sites target:many, each with other code before it, so that they lie at all offsets in a
 * cache line that a site can have. rax, rcx, rdx and the carry flag are known at each. */
    .globl pass_many; .type pass_many, @function
pass_many:
    .cfi_startproc
    SET(%rax); SET(%rcx); SET(%rdx); SET(%r11)
    mov %rsp, %r10
    stc
    .set number, 0
    .rept 256
    .fill number % 7, 1, 0x90
    FASTSDT(target, many)
    .set number, number + 1
    .endr
    jnc 1f
    sub %rsp, %r10
    CHECK(%rax); CHECK(%rcx); CHECK(%rdx)
    xor %eax, %eax
    test %r10, %r10
    setne %al
    ret
1:  mov $1, %eax
    ret
    .cfi_endproc; .size pass_many, . - pass_many

/* Functions of which a jump takes several instructions, however the rest is compiled; in one page. */
#define SHORT(name)                                                                                                     \
    .globl name; .type name, @function;                                                                                \
name:                                                                                                                  \
    .cfi_startproc;                                                                                                    \
    lea 1(%rdi), %rax;                                                                                                 \
    nopl 0(%rax);                                                                                                      \
    ret;                                                                                                               \
    .cfi_endproc; .size name, . - name
    .p2align 6
    SHORT(short_one)
    .p2align 4
    SHORT(short_other)
#endif

    PASS(s0)
    PASS(s1)
    PASS(s2)
    PASS(s3)

    .section .note.GNU-stack, "", @progbits
