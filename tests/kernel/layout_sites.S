/* SPDX-License-Identifier: BSD-2-Clause
 *
 * check_LAYOUT(struct Seen *seen): a leaf function with one site of that layout. It keeps sixteen words in the red zone,
 * sets every register and the status flags, passes the site, and stores what it then finds:
 *   seen+0 .. 112   rax rbx rcx rdx rsi rbp r8 .. r15 rsp-relative zero   (C knows what they were)
 *   seen+120        flags as lahf and seto give them
 *   seen+128        the sixteen words at -128(%rsp)
 * rdi stays `seen` throughout. On arm64, which has no red zone: x1 .. x17 x19 .. x28, how far sp moved, nzcv; x0 stays. */
#include <fastsdt.h>

#ifdef __x86_64__
        .macro function layout:req
        .text
        .globl  check_\layout
        .type   check_\layout, @function
        .p2align 4
check_\layout:
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        .set    n, 1
        .rept   16
        movq    $(0x5a00 + n), -8*n(%rsp)
        .set    n, n + 1
        .endr
        mov     %rsp, 112(%rdi)
        mov     $0x101, %rax
        mov     $0x102, %rbx
        mov     $0x103, %rcx
        mov     $0x104, %rdx
        mov     $0x105, %rsi
        mov     $0x106, %rbp
        mov     $0x108, %r8
        mov     $0x109, %r9
        mov     $0x10a, %r10
        mov     $0x10b, %r11
        mov     $0x10c, %r12
        mov     $0x10d, %r13
        mov     $0x10e, %r14
        mov     $0x7fffffff, %r15d
        add     $1, %r15d               /* OF, SF, PF, AF */
        stc                             /* CF */
        .endm

        .macro finish layout:req
        mov     %rax, 0(%rdi)
        mov     %rbx, 8(%rdi)
        mov     %rcx, 16(%rdi)
        mov     %rdx, 24(%rdi)
        mov     %rsi, 32(%rdi)
        mov     %rbp, 40(%rdi)
        mov     %r8, 48(%rdi)
        mov     %r9, 56(%rdi)
        mov     %r10, 64(%rdi)
        mov     %r11, 72(%rdi)
        mov     %r12, 80(%rdi)
        mov     %r13, 88(%rdi)
        mov     %r14, 96(%rdi)
        mov     %r15, 104(%rdi)
        mov     $0, %eax
        lahf
        seto    %al
        mov     %rax, 120(%rdi)
        .set    n, 1
        .rept   16
        mov     -8*n(%rsp), %rax
        mov     %rax, 128 + 8*(n-1)(%rdi)
        .set    n, n + 1
        .endr
        mov     %rsp, %rax
        sub     112(%rdi), %rax         /* the stack pointer moved: not zero */
        mov     %rax, 112(%rdi)
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .size   check_\layout, .-check_\layout
        .endm

        function nop1
        FASTSDT_WITH(nop1, none, layouts, nop1)
        finish  nop1
        function nop1_nop4
        FASTSDT_WITH(nop1_nop4, none, layouts, nop1_nop4)
        finish  nop1_nop4
        function nop5
        FASTSDT_WITH(nop5, none, layouts, nop5)
        finish  nop5
        function nop1_nop5
        FASTSDT_WITH(nop1_nop5, none, layouts, nop1_nop5)
        finish  nop1_nop5
        function nop10
        FASTSDT_WITH(nop10, none, layouts, nop10)
        finish  nop10
        function nop1_nop10
        FASTSDT_WITH(nop1_nop10, none, layouts, nop1_nop10)
        finish  nop1_nop10

#elif defined __aarch64__
        .text
        .globl  check_nop
        .type   check_nop, %function
        .p2align 4
check_nop:
        stp     x29, x30, [sp, #-96]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        mov     x29, sp
        .irp    n, 2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,19,20,21,22,23,24,25,26,27,28
        mov     x\n, #(0x100 + \n)
        .endr
        mov     x1, #0xf0000000
        msr     nzcv, x1
        mov     x1, #0x101
        FASTSDT_WITH(nop, none, layouts, nop)
        .set    slot, 0
        .irp    n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,19,20,21,22,23,24,25,26,27,28
        str     x\n, [x0, #slot]
        .set    slot, slot + 8
        .endr
        mov     x2, sp
        sub     x2, x2, x29
        mrs     x1, nzcv
        str     x2, [x0, #slot]
        str     x1, [x0, #slot + 8]
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     x29, x30, [sp], #96
        ret
        .size   check_nop, .-check_nop
#endif

        .section .note.GNU-stack,"",%progbits
