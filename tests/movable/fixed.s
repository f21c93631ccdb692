# SPDX-License-Identifier: BSD-2-Clause
# As rules.s, for a program that is linked to its addresses: they stand in data and instructions without relocations.
	.macro FUNC name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm
	.macro END name
	.cfi_endproc
	.size	\name, . - \name
	.byte	0xcc, 0xcc, 0xcc, 0xcc, 0xcc
	.endm
	.text
	.globl	plain
#= entry plain: 0+5
#= exit plain: 5+5 at 0 leaves
	FUNC plain
	mov	$1, %eax
	ret
	END plain

# A word of data that is an address inside.
#= entry word: has a jump target inside the bytes that would be replaced
#= exit word: has instructions whose addresses are taken
	FUNC word
	nop
	mov	$1, %eax
	ret
	END word

# An immediate of 4 bytes, and one of 8.
#= entry immediate: has a jump target inside the bytes that would be replaced
#= entry immediate8: has a jump target inside the bytes that would be replaced
#= entry names: 0+5
#= exit names: 15+5 at 0 leaves
	FUNC immediate
	nop
	mov	$1, %eax
	ret
	END immediate
	FUNC immediate8
	nop
	mov	$1, %eax
	ret
	END immediate8
	FUNC names
	mov	$immediate + 1, %eax		# 5
	movabs	$immediate8 + 1, %rdx		# 10
	ret
	END names

# A switch by a table of addresses; words of the table are not taken for more than that.
#= entry switch: 0+6
#= exit switch: 13+5 at 0 leaves
#= exit switch: 19+5 at 0 leaves
	FUNC switch
	cmp	$0x12345678, %edi		# 6
	jmp	*.Ltable(,%rdi,8)		# 7
1:	ret					# at 13
	.byte	0xcc, 0xcc, 0xcc, 0xcc
2:	nop					# at 18
	ret
	END switch

# The same with a mov between.
#= entry switch_mov: 0+10 may fault
#= exit switch_mov: 12+5 at 0 leaves
	FUNC switch_mov
	mov	%edi, %edi			# 2
	mov	.Ltable_mov(,%rdi,8), %rax	# 8
	jmp	*%rax				# 2
3:	ret
	END switch_mov
	.section .rodata, "a", @progbits
	.p2align 3
.Ltable:
	.quad	1b, 2b
.Ltable_mov:
	.quad	3b
	.data
	.p2align 3
	.quad	word + 1
	.section .note.GNU-stack, "", @progbits
