/* SPDX-License-Identifier: BSD-2-Clause
 *
 * check_LAYOUT(struct Seen *seen): a leaf function with one site of that layout. It keeps sixteen words in the red zone,
 * sets every register and the status flags, passes the site, and stores what it then finds:
 *   seen+0 .. 112   rax rbx rcx rdx rsi rbp r8 .. r15 rsp-relative zero   (C knows what they were)
 *   seen+120        flags as lahf and seto give them
 *   seen+128        the sixteen words at -128(%rsp)
 * rdi stays `seen` throughout. */
#include <fastsdt.h>

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

        .section .note.GNU-stack,"",@progbits
