/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of sites.c, as the linker made it. */
	.section .rodata
	.balign 8
	.globl fastsdt_sites_file, fastsdt_sites_file_end
	.hidden fastsdt_sites_file
	.hidden fastsdt_sites_file_end
fastsdt_sites_file:
	.incbin FASTSDT_SITES_FILE
fastsdt_sites_file_end:
	.section .note.GNU-stack, "", %progbits
