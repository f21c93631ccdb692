/* SPDX-License-Identifier: BSD-2-Clause
 *
 * int pass_NAME(void): passes the site target:NAME in the middle of a function that uses its red zone, with known values
 * in the registers that a stub is most likely to use, and with the carry and the overflow flag set. Answers 0 if all is
 * as before behind it.
 */
#include <fastsdt.h>

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
    PASS(s0)
    PASS(s1)
    PASS(s2)
    PASS(s3)

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

    .section .note.GNU-stack, "", @progbits
