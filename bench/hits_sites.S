/* SPDX-License-Identifier: BSD-2-Clause
   The functions that bench_hits probes: each is its first instructions and a return. SITE(name) begins one; UNPROBED is the
   same as nop1 and stays without a probe. Names are those of bench_hits' table. */
#define SITE(name) .p2align 6; .globl site_##name; .type site_##name, %function; site_##name:

    .text
#if defined(__x86_64__)
SITE(unprobed) nop; ret
SITE(nop1) nop; ret
SITE(nop1_nop4) nop; .byte 0x0f, 0x1f, 0x40, 0x00; ret
SITE(nop5) .byte 0x0f, 0x1f, 0x44, 0x00, 0x00; ret
SITE(nop1_nop10) nop; .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0; ret
SITE(push) push %rbp; pop %rbp; ret
SITE(endbr64) .byte 0xf3, 0x0f, 0x1e, 0xfa; ret
SITE(sub) sub $8, %rsp; add $8, %rsp; ret
SITE(mov) mov %edi, %eax; ret
SITE(ret) ret
SITE(return_nop1) nop; ret
SITE(return_push) push %rbp; pop %rbp; ret
SITE(return_ret) ret
#elif defined(__aarch64__)
SITE(unprobed) nop; ret
SITE(nop1) nop; ret
SITE(stp) stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16; ret
SITE(bti) .inst 0xd503245f; ret
SITE(sub) sub sp, sp, #16; add sp, sp, #16; ret
SITE(mov) mov w0, w1; ret
SITE(ret) ret
SITE(return_nop1) nop; ret
SITE(return_stp) stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16; ret
#endif
    .section .note.GNU-stack, "", %progbits
