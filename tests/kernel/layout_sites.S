/* SPDX-License-Identifier: BSD-2-Clause
 *
 * check_LAYOUT(struct Seen *seen): a leaf function with one site of that layout. It keeps sixteen words in the red zone,
 * sets every register and the status flags, passes the site, and stores what it then finds:
 *   seen+0 .. 112   rax rbx rcx rdx rsi rbp r8 .. r15 rsp-relative zero   (C knows what they were)
 *   seen+120        flags as lahf and seto give them
 *   seen+128        the sixteen words at -128(%rsp)
 * rdi stays `seen` throughout. On other architectures, in words of their own size and as far as they have it: the free
 * registers, how far the stack pointer moved, the flags, the red zone. The first of these is set last: layouts.c finds
 * the site behind that. */
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

#elif defined __riscv
        .text
        .globl  check_nop
        .type   check_nop, %function
        .p2align 4
check_nop:
        addi    sp, sp, -112
        .set    slot, 0
        .irp    n, ra,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11
        sd      \n, slot(sp)
        .set    slot, slot + 8
        .endr
        sd      sp, 27*8(a0)
        .set    value, 0x101
        .irp    n, ra,t0,t1,t2,t3,t4,t5,t6,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11,a2,a3,a4,a5,a6,a7
        .set    value, value + 1
        li      \n, value
        .endr
        li      a1, 0x101
        FASTSDT_WITH(nop, none, layouts, nop)
        .set    slot, 0
        .irp    n, a1,ra,t0,t1,t2,t3,t4,t5,t6,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11,a2,a3,a4,a5,a6,a7
        sd      \n, slot(a0)
        .set    slot, slot + 8
        .endr
        ld      t0, slot(a0)
        sub     t0, sp, t0
        sd      t0, slot(a0)
        sd      zero, slot + 8(a0)      /* there are no flags */
        .set    slot, 0
        .irp    n, ra,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11
        ld      \n, slot(sp)
        .set    slot, slot + 8
        .endr
        addi    sp, sp, 112
        ret
        .size   check_nop, .-check_nop

#elif defined __loongarch__
        .text
        .globl  check_nop
        .type   check_nop, %function
        .p2align 4
check_nop:
        addi.d  $sp, $sp, -96
        .set    slot, 0
        .irp    n, ra,fp,s0,s1,s2,s3,s4,s5,s6,s7,s8
        st.d    $\n, $sp, slot
        .set    slot, slot + 8
        .endr
        st.d    $sp, $a0, 27*8
        .set    value, 0x101
        .irp    n, ra,t0,t1,t2,t3,t4,t5,t6,t7,t8,fp,s0,s1,s2,s3,s4,s5,s6,s7,s8,a2,a3,a4,a5,a6,a7
        .set    value, value + 1
        ori     $\n, $zero, value
        .endr
        ori     $a1, $zero, 0x101
        FASTSDT_WITH(nop, none, layouts, nop)
        .set    slot, 0
        .irp    n, a1,ra,t0,t1,t2,t3,t4,t5,t6,t7,t8,fp,s0,s1,s2,s3,s4,s5,s6,s7,s8,a2,a3,a4,a5,a6,a7
        st.d    $\n, $a0, slot
        .set    slot, slot + 8
        .endr
        ld.d    $t0, $a0, 27*8
        sub.d   $t0, $sp, $t0
        st.d    $t0, $a0, 27*8
        st.d    $zero, $a0, 28*8        /* there are no flags */
        .set    slot, 0
        .irp    n, ra,fp,s0,s1,s2,s3,s4,s5,s6,s7,s8
        ld.d    $\n, $sp, slot
        .set    slot, slot + 8
        .endr
        addi.d  $sp, $sp, 96
        jirl    $zero, $ra, 0
        .size   check_nop, .-check_nop

#elif defined __s390x__
        .text
        .globl  check_nop
        .type   check_nop, %function
        .p2align 4
check_nop:
        stmg    %r6, %r15, 48(%r15)
        stg     %r15, 14*8(%r2)
        .irp    n, 0,3,4,5,6,7,8,9,10,11,12,13,14
        lghi    %r\n, 0x102 + \n
        .endr
        lghi    %r1, 0x101
        tmll    %r1, 0x101              /* all of these bits: condition code 3 */
        FASTSDT_WITH(nop, none, layouts, nop)
        .set    slot, 0
        .irp    n, 1,0,3,4,5,6,7,8,9,10,11,12,13,14
        stg     %r\n, slot(%r2)
        .set    slot, slot + 8
        .endr
        lghi    %r1, 0
        ipm     %r1
        srlg    %r1, %r1, 28
        stg     %r1, slot + 8(%r2)
        lgr     %r1, %r15
        sg      %r1, slot(%r2)
        stg     %r1, slot(%r2)
        lmg     %r6, %r15, 48(%r15)
        br      %r14
        .size   check_nop, .-check_nop

#elif defined __powerpc64__
        .abiversion 2
        .text
        .globl  check_nop
        .type   check_nop, %function
        .p2align 4
check_nop:
        stdu    1, -208(1)
        .set    slot, 32
        .irp    n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        std     \n, slot(1)
        .set    slot, slot + 8
        .endr
        mfcr    0
        std     0, slot(1)
        std     1, 28*8(3)
        .set    n, 1
        .rept   16
        li      0, 0x5a00 + n
        std     0, -8*n(1)
        .set    n, n + 1
        .endr
        .irp    n, 0,5,6,7,8,9,10,11,12,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        li      \n, 0x102 + \n
        .endr
        lis     4, 0x5a3c
        mtcrf   0xff, 4
        li      4, 0x101
        FASTSDT_WITH(nop, none, layouts, nop)
        .set    slot, 0
        .irp    n, 4,0,5,6,7,8,9,10,11,12,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        std     \n, slot(3)
        .set    slot, slot + 8
        .endr
        mfcr    4
        std     4, slot + 8(3)
        ld      4, slot(3)
        subf    4, 4, 1
        std     4, slot(3)
        .set    n, 1
        .rept   16
        ld      4, -8*n(1)
        std     4, slot + 8 + 8*n(3)
        .set    n, n + 1
        .endr
        .set    slot, 32
        .irp    n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        ld      \n, slot(1)
        .set    slot, slot + 8
        .endr
        ld      0, slot(1)
        mtcrf   0xff, 0
        addi    1, 1, 208
        blr
        .size   check_nop, .-check_nop

#elif defined __arm__
        .syntax unified
        .arch   armv7-a
        .arm
        .text
        .globl  check_nop
        .type   check_nop, %function
        .p2align 4
check_nop:
        push    {r4-r11, lr}
        str     sp, [r0, #13*4]
        .irp    n, 2,3,4,5,6,7,8,9,10,11,12,14
        movw    r\n, #(0x100 + \n)
        .endr
        mov     r1, #0xf0000000
        msr     cpsr_f, r1
        movw    r1, #0x101
        FASTSDT_WITH(nop, none, layouts, nop)
        .set    slot, 0
        .irp    n, 1,2,3,4,5,6,7,8,9,10,11,12,14
        str     r\n, [r0, #slot]
        .set    slot, slot + 4
        .endr
        mrs     r1, cpsr
        and     r1, r1, #0xf0000000
        str     r1, [r0, #slot + 4]
        ldr     r1, [r0, #slot]
        sub     r1, sp, r1
        str     r1, [r0, #slot]
        pop     {r4-r11, pc}
        .size   check_nop, .-check_nop
#endif

        .section .note.GNU-stack,"",%progbits
