/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Assembly: operands are recorded as the assembler writes them; [-]SIZE@ in front tells tracers how many bytes they are
 * and whether they are signed. The function counts its first argument down and returns its second.
 */
#include <fastsdt.h>

	.text
	.globl spin
	.type spin, @function
spin:
#ifdef __x86_64__
1:	FASTSDT(spin, turn, 8@%rdi, -4@%esi)
	dec	%rdi
	jnz	1b
	mov	%esi, %eax
	ret
#elif defined(__aarch64__)
1:	FASTSDT(spin, turn, 8@x0, -4@x1)
	subs	x0, x0, #1
	b.ne	1b
	mov	w0, w1
	ret
#else
#error "spin.S: write the loop for this architecture"
#endif
	.size spin, . - spin

	.section .note.GNU-stack, "", %progbits
