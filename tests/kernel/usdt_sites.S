/* SPDX-License-Identifier: BSD-2-Clause
 *
 * aligned_sites: 4096 functions with one FASTSDT site each. The n-th begins n bytes into a page, so that without the header's
 * alignment a site would begin at every offset there is.
 * unaligned_sites: nop1+nop10 without that alignment, as another header emits it, at the last 36 offsets of a page, with names
 * after the offset of the nop10, so that each can be attached by itself, and once more as `all`. */
#include <fastsdt.h>

        .macro  stapsdt_note name:req   /* for the code at 990 */
        .pushsection .note.stapsdt, "", "note"
        .balign 4
        .4byte  992f-991f, 994f-993f, 3
991:    .asciz  "stapsdt"
992:    .balign 4
993:    .8byte  990b, _.stapsdt.base, 0
        .asciz  "unaligned"
        .asciz  "\name"
        .byte   0
994:    .balign 4
        .popsection
        .endm

        .section .data.rel.ro, "aw"
        .p2align 3
        .globl  aligned_sites, unaligned_sites
aligned_sites:
        .text
        .set    n, 0
        .rept   4096
        .p2align 12
        .fill   n, 1, 0xcc
990:    FASTSDT_WITH(nop1_nop10, none, aligned, all)
        ret
        .pushsection .data.rel.ro, "aw"
        .8byte  990b
        .popsection
        .set    n, n + 1
        .endr

        .section .data.rel.ro, "aw"
unaligned_sites:
        .text
        .irp    n, 4060, 4061, 4062, 4063, 4064, 4065, 4066, 4067, 4068, 4069, 4070, 4071, 4072, 4073, 4074, 4075, 4076, 4077, \
                4078, 4079, 4080, 4081, 4082, 4083, 4084, 4085, 4086, 4087, 4088, 4089, 4090, 4091, 4092, 4093, 4094, 4095
        .p2align 12
        .fill   \n - 1, 1, 0xcc
990:    .byte   0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
        ret
        .pushsection .data.rel.ro, "aw"
        .8byte  990b
        .popsection
        stapsdt_note at\n
        stapsdt_note all
        .endr
        .section .note.GNU-stack, "", @progbits
