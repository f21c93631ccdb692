# SPDX-License-Identifier: BSD-2-Clause
# A function for each rule of lib/movable. Lines that begin with "#= " are what movable_dump prints: START+LENGTH [at OFFSET OF THE PROBE].
# Lengths are those of the instructions' encodings, which stand behind them where they are not obvious.
	.macro FUNC name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm
	# Five bytes of padding, so that a return has room.
	.macro END name
	.cfi_endproc
	.size	\name, . - \name
	.byte	0xcc, 0xcc, 0xcc, 0xcc, 0xcc
	.endm
	# No padding: the next function, or code of nobody's, follows at once.
	.macro END_TIGHT name
	.cfi_endproc
	.size	\name, . - \name
	ud2
	.endm
	.macro SITE name
	.pushsection test.sites, "", @progbits
	.quad	99f
	.ascii	"\name"
	.p2align 5
	.popsection
99:	nop
	.endm

	.text
#= entry plain: 0+8
#= exit plain: 9+5 at 0 leaves
	FUNC plain
	push	%rbp			# 1
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp		# 3
	.cfi_def_cfa_register rbp
	sub	$16, %rsp		# 4
	leave				# 1
	.cfi_def_cfa rsp, 8
	ret
	END plain

#= entry behind_endbr: 4+5
#= exit behind_endbr: 9+5 at 0 leaves
	FUNC behind_endbr
	endbr64
	mov	$1, %eax		# 5
	ret
	END behind_endbr

# ---- length

#= entry short: has too few bytes there
#= exit short: has too few bytes there
	FUNC short
	xor	%eax, %eax
	ret
	END_TIGHT short

#= entry padded: 0+5 leaves
#= exit padded: 2+5 at 0 leaves
	FUNC padded
	xor	%eax, %eax
	ret
	END padded

# Padding that is jumped to is none: the other function's jump leads there. Its own last instruction has no room either.
#= entry padding_target: has too few bytes there
#= exit padding_target: has too few bytes there
	FUNC padding_target
	xor	%eax, %eax
	ret
	.cfi_endproc
	.size	padding_target, . - padding_target
	.byte	0x90
.Lpadding:
	.byte	0x90, 0x90, 0x90, 0x90
#= entry padding_user: 0+5
#= exit padding_user: has a jump or return that may not be an exit
	FUNC padding_user
	mov	$1, %eax
	jmp	.Lpadding
	END_TIGHT padding_user

# Backwards over whole instructions: xor (2), inc (2), ret (1).
#= entry backwards: 0+6
#= exit backwards: 6+5 at 4 leaves
	FUNC backwards
	cmp	$0x12345678, %edi	# 6
	xor	%eax, %eax
	inc	%eax
	ret
	END_TIGHT backwards

# The same, but for a jump to the inc: there is too little behind it.
#= entry backwards_target: 0+6
#= exit backwards_target: has too few bytes there
	FUNC backwards_target
	cmp	$0x12345678, %edi	# 6
	jne	1f			# 2
	xor	%eax, %eax
1:	inc	%eax
	ret
	END_TIGHT backwards_target

# A jump to the first byte of an exit's instructions does no harm.
#= entry backwards_first: 0+6
#= exit backwards_first: 10+5 at 4 leaves
	FUNC backwards_first
	cmp	$0x12345678, %edi
	jne	1f
	xor	%eax, %eax		# at 8
1:	add	$1, %eax		# 3, at 10
	nop				# 1
	ret
	END_TIGHT backwards_first

# A call's return address is a target: nothing before it.
#= entry after_call: 0+5 calls
#= exit after_call: has too few bytes there
	FUNC after_call
	call	plain
	inc	%eax
	ret
	END_TIGHT after_call

# ---- targets inside

#= entry inside: has a jump target inside the bytes that would be replaced
#= exit inside: 6+5 at 0 leaves
	FUNC inside
	push	%rbx			# 1
	.cfi_def_cfa_offset 16
1:	dec	%edi			# 2
	jnz	1b			# 2
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	END inside

#= entry forward: 0+5
#= exit forward: 5+5 at 0 leaves
	FUNC forward
	test	%edi, %edi		# 2
	je	1f			# 2
	nop				# 1
1:	ret
	END forward

#= entry forward_inside: has a jump target inside the bytes that would be replaced
#= exit forward_inside: 6+5 at 0 leaves
	FUNC forward_inside
	je	1f			# 2
	xor	%eax, %eax		# 2
1:	inc	%eax			# 2
	ret
	END forward_inside

#= entry conditional: 0+9
#= exit conditional: 9+5 at 0 leaves
	FUNC conditional
	test	%edi, %edi		# 2
	je	1f			# 2
	mov	$1, %eax		# 5
1:	ret
	END conditional

# A pointer in relocated data: 1 byte into the function.
#= entry pointed: has a jump target inside the bytes that would be replaced
#= exit pointed: has instructions whose addresses are taken
	FUNC pointed
	nop
	mov	$1, %eax
	ret
	END pointed

# An lea in another function.
#= entry named: has a jump target inside the bytes that would be replaced
#= exit named: has instructions whose addresses are taken
	FUNC named
	nop
	mov	$1, %eax
	ret
	END named
#= entry namer: 0+7
#= exit namer: 7+5 at 0 leaves
	FUNC namer
	lea	named+1(%rip), %rax	# 7
	ret
	END namer

# A second name inside.
#= entry two_names: has a jump target inside the bytes that would be replaced
#= exit two_names: is entered elsewhere than at its begin
#= entry second_name: begins in the middle of what has unwinding information
#= exit second_name: begins in the middle of what has unwinding information
	FUNC two_names
	nop
	.type	second_name, @function
second_name:
	mov	$1, %eax
	ret
	.size	second_name, 6
	END two_names

# Another function jumps into the middle; the first byte behind the window is none of it.
#= entry neighbour: 0+5
#= exit neighbour: is entered elsewhere than at its begin
	FUNC neighbour
	mov	$1, %eax
.Lneighbour:
	inc	%eax
	ret
	END neighbour
#= entry intruder: 0+5
#= exit intruder: has a jump or return that may not be an exit
	FUNC intruder
	mov	$2, %eax
	jmp	.Lneighbour
	END intruder

# Code without unwinding information jumps into the middle.
#= entry from_gap: has a jump target inside the bytes that would be replaced
#= exit from_gap: is entered elsewhere than at its begin
	FUNC from_gap
	nop
.Lfrom_gap:
	mov	$1, %eax
	ret
	END from_gap
#= entry no_frame: has no unwinding information
#= exit no_frame: has no unwinding information
	.type	no_frame, @function
no_frame:
	mov	$1, %eax
	jmp	.Lfrom_gap
	.size	no_frame, . - no_frame
	.byte	0xcc

# A landing pad, one byte into the function: .gcc_except_table says so.
#= entry landing: has a jump target inside the bytes that would be replaced
#= exit landing: 8+5 at 0 leaves
	FUNC landing
	.cfi_lsda 0x1b, .Llsda
	nop
	nop
	nop
	call	plain			# 5
	ret
	END landing
	.section .gcc_except_table, "a", @progbits
.Llsda:
	.byte	0xff, 0xff, 0x01	# no base, no types, call sites in ULEB128
	.uleb128 .Lsites_end - .Lsites
.Lsites:
	.uleb128 3			# begin, length, pad, action
	.uleb128 5
	.uleb128 1
	.uleb128 0
.Lsites_end:
	.text

# ---- loops

#= entry loop: jumps back to its entry
#= exit loop: 8+5 at 0 leaves
	FUNC loop
	lea	1(%rax), %rax		# 4
	dec	%edi			# 2
	jnz	loop			# 2
	ret
	END loop

#= entry loop_behind_endbr: jumps back to its entry
#= exit loop_behind_endbr: 12+5 at 0 leaves
	FUNC loop_behind_endbr
	endbr64
1:	lea	1(%rax), %rax
	dec	%edi
	jnz	1b
	ret
	END loop_behind_endbr

# Recursion is no loop.
#= entry recursion: 0+6 calls
#= exit recursion: 7+5 at 0 leaves
	FUNC recursion
	push	%rbx			# 1
	.cfi_def_cfa_offset 16
	call	recursion		# 5
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	END recursion

# ---- calls and jumps

#= entry tail: 0+5 leaves
#= exit tail: 0+5 at 0 leaves tail
	FUNC tail
	.byte	0xe9			# jmp plain, 5
	.long	plain - . - 4
	END_TIGHT tail

#= entry tail_short: 0+5
#= exit tail_short: 5+5 at 0 leaves tail
	FUNC tail_short
	mov	$1, %eax
	jmp	short_target		# 2
	END tail_short
#= entry short_target: 0+5
#= exit short_target: 5+5 at 0 leaves
	FUNC short_target
	mov	$1, %eax
	ret
	END short_target

#= entry tail_register: 0+5 may fault leaves
#= exit tail_register: 0+5 at 3 may fault leaves tail
	FUNC tail_register
	mov	(%rdi), %rax		# 3
	jmp	*%rax			# 2
	END_TIGHT tail_register

#= entry tail_memory: 0+6 leaves
#= exit tail_memory: 0+6 at 0 leaves tail
	FUNC tail_memory
	jmp	*pointer(%rip)		# 6
	END_TIGHT tail_memory

# With something on the stack it is no tail call.
#= entry computed: has an indirect jump whose targets are not known
#= exit computed: has an indirect jump whose targets are not known
#= site computed: has an indirect jump whose targets are not known
	FUNC computed
	push	%rbx
	.cfi_def_cfa_offset 16
	mov	$1, %ebx
	SITE computed
	mov	$1, %ebx
	jmp	*%rax
	END computed

# Half an address is none.
#= entry computed_half: has an indirect jump whose targets are not known
#= exit computed_half: has an indirect jump whose targets are not known
	FUNC computed_half
	mov	(%rdi), %eax
	jmp	*%rax
	END computed_half

# What an add has made is no function's address.
#= entry computed_sum: has an indirect jump whose targets are not known
#= exit computed_sum: has an indirect jump whose targets are not known
	FUNC computed_sum
	mov	$1, %ecx
	add	%rcx, %rax
	jmp	*%rax
	END computed_sum

# The same by another register, and by an lea that adds.
#= entry computed_copy: has an indirect jump whose targets are not known
#= exit computed_copy: has an indirect jump whose targets are not known
	FUNC computed_copy
	mov	$1, %ecx
	add	%rcx, %rax
	mov	%rax, %rdx
	jmp	*%rdx
	END computed_copy
#= entry computed_lea: has an indirect jump whose targets are not known
#= exit computed_lea: has an indirect jump whose targets are not known
	FUNC computed_lea
	mov	$1, %ecx
	lea	(%rax,%rcx), %rdx
	jmp	*%rdx
	END computed_lea

# A pointer that was guarded, as glibc does it: ror (4), xor (9), jmp (2).
#= entry guarded: 0+13 may fault
#= exit guarded: 4+11 at 9 may fault leaves tail
	FUNC guarded
	ror	$0x11, %rax
	xor	%fs:0x30, %rax
	jmp	*%rax
	END_TIGHT guarded

# A switch, as compilers write it. The last case leads into what follows the site.
#= entry switch: 0+5
#= exit switch: 28+5 at 0 leaves
#= exit switch: 34+5 at 0 leaves
#= site switch: has a jump target inside the bytes that would be replaced
	FUNC switch
	cmp	$2, %edi		# 3, at 0
	ja	1f			# 2
	mov	%edi, %edi		# 2, at 5
	lea	.Ltable(%rip), %rdx	# 7
	movslq	(%rdx,%rdi,4), %rax	# 4, at 14
	add	%rdx, %rax		# 3
	jmp	*%rax			# 2, at 21
1:	mov	$1, %eax		# 5, at 23
	ret				# at 28
	int3
	int3
	int3
	int3
	# at 33
2:	.byte	0x90			# a nop that the table leads to
	ret				# at 34
	.byte	0x0f, 0x1f, 0x40, 0x00	# nopl: padding within the function
3:	SITE switch			# at 39
4:	nop
	mov	$2, %eax
	jmp	1b
	END switch
	.section .rodata, "a", @progbits
	.p2align 2
.Ltable:
	.long	2b - .Ltable, 3b - .Ltable, 4b - .Ltable
	.text

# The same without optimization, as GCC writes it.
#= entry switch_slow: 0+10
#= exit switch_slow: 34+5 at 0 leaves
	FUNC switch_slow
	mov	%edi, %eax		# 2
	lea	0(,%rax,4), %rdx	# 8
	lea	.Ltable_slow(%rip), %rax
	mov	(%rdx,%rax), %eax
	cltq
	lea	.Ltable_slow(%rip), %rdx
	add	%rdx, %rax
	jmp	*%rax
5:	ret
	END switch_slow
	.section .rodata, "a", @progbits
	.p2align 2
.Ltable_slow:
	.long	5b - .Ltable_slow
	.text

# Labels in data, as with GCC's computed goto: known to be targets, but then nobody knows what leaves.
#= entry labels: 0+5
#= exit labels: has an indirect jump whose targets are not known
	FUNC labels
	mov	$1, %eax
6:	inc	%eax
7:	jmp	*(%rdi)
	END labels
	.section .data.rel.ro, "aw", @progbits
	.quad	6b, 7b, pointed+1
pointer:
	.quad	plain
	.text

# The same with an address that an instruction computes.
#= entry own_label: has an indirect jump whose targets are not known
#= exit own_label: has an indirect jump whose targets are not known
	FUNC own_label
	lea	8f(%rip), %rax
	jmp	*%rax
8:	ret
	END own_label

# A table that leads back to the entry.
#= entry switch_loop: jumps back to its entry
#= exit switch_loop: 21+5 at 0 leaves
	FUNC switch_loop
	mov	$1, %eax		# 5
	lea	.Ltable_loop(%rip), %rdx # 7
	movslq	(%rdx,%rdi,4), %rax	# 4
	add	%rdx, %rax		# 3
	jmp	*%rax			# 2, at 19
9:	ret
	END switch_loop
	.section .rodata, "a", @progbits
	.p2align 2
.Ltable_loop:
	.long	9b - .Ltable_loop, switch_loop - .Ltable_loop
	.text

# ---- exits

#= entry leaves_conditionally: 0+8
#= exit leaves_conditionally: leaves by a conditional jump
#= exit leaves_conditionally: 8+5 at 0 leaves
	FUNC leaves_conditionally
	test	%edi, %edi		# 2
	.byte	0x0f, 0x84		# je plain, 6
	.long	plain - . - 4
	ret
	END leaves_conditionally

#= entry falls: 0+5
#= exit falls: runs into what stands behind it
	FUNC falls
	mov	$1, %eax
	.cfi_endproc
	.size	falls, . - falls

# pushes an address and "returns" to it
#= entry pushes: 0+5
#= exit pushes: has a jump or return that may not be an exit
	FUNC pushes
	push	$0x12345		# 5
	.cfi_def_cfa_offset 16
	nop
	ret
	END pushes

#= entry never_returns: 0+6 calls
#= exit never_returns: none
	FUNC never_returns
	push	%rbx
	.cfi_def_cfa_offset 16
	call	plain
	END never_returns

# A part that the compiler split off, with a return and a jump back.
#= entry hot: 0+7
#= exit hot: 17+5 at 0 leaves
#= exit hot: 33+5 at 0 leaves
	FUNC hot
	sub	$8, %rsp		# 4
	.cfi_def_cfa_offset 16
	cmp	$1, %edi		# 3
	.byte	0x0f, 0x84		# je .Lcold, 6, at 7
	.long	.Lcold - . - 4
.Lback:	add	$8, %rsp		# 4, at 13
	.cfi_def_cfa_offset 8
	ret				# at 17
	END hot
	.cfi_startproc			# at 23
	.cfi_def_cfa_offset 16
.Lcold:	test	%esi, %esi		# 2
	je	.Lback			# 2
	xor	%eax, %eax		# 2
	add	$8, %rsp		# 4, at 29
	.cfi_def_cfa_offset 8
	ret				# at 33
	.cfi_endproc
	.byte	0xcc, 0xcc, 0xcc, 0xcc, 0xcc

# A part that jumps to its function's begin.
#= entry hot_loop: jumps back to its entry
#= exit hot_loop: 11+5 at 0 leaves
	FUNC hot_loop
	mov	$1, %eax		# 5
	.byte	0x0f, 0x84		# je .Lcold_loop, 6
	.long	.Lcold_loop - . - 4
	ret				# at 11
	END hot_loop
	.cfi_startproc
.Lcold_loop:
	dec	%edi
	jmp	hot_loop
	.cfi_endproc
	ud2

# A part whose end cannot be reached: its jump leads to the end of the function, which is no way out.
#= entry hot_end: 0+5
#= exit hot_end: 11+5 at 4 leaves
	FUNC hot_end
	mov	$1, %eax
	.byte	0x0f, 0x84		# je .Lcold_end
	.long	.Lcold_end - . - 4
	xor	%eax, %eax		# 2, at 11
	xor	%edx, %edx		# 2
	ret				# what is behind it is jumped to
.Lend:	END hot_end
	.cfi_startproc
.Lcold_end:
	call	plain
	jmp	.Lend
	.cfi_endproc
	ud2

# ---- frames

#= entry stack: begins with something on the stack
#= exit stack: begins with something on the stack
	FUNC stack
	.cfi_def_cfa_offset 16
	mov	$1, %eax
	ret
	END stack

#= entry signal: is called or returned to for a signal
#= exit signal: is called or returned to for a signal
	FUNC signal
	.cfi_signal_frame
	mov	$1, %eax
	ret
	END signal

#= entry outermost: has no caller
#= exit outermost: has no caller
	FUNC outermost
	.cfi_undefined rip
	mov	$1, %eax
	ret
	END outermost

# 06 is no instruction in 64-bit mode.
#= entry undecodable: is not made of whole instructions from begin to end
#= exit undecodable: is not made of whole instructions from begin to end
	FUNC undecodable
	mov	$1, %eax
	ret
	.byte	0x06
	END undecodable

# The last instruction goes on behind the end.
#= entry cut: is not made of whole instructions from begin to end
#= exit cut: is not made of whole instructions from begin to end
	FUNC cut
	mov	$1, %eax
	ret
	.byte	0xb8, 0x01
	.cfi_endproc
	.byte	0x00, 0x00, 0x00
	.size	cut, 8

# Data among the code, which happen to be instructions.
#= entry data: is not made of whole instructions from begin to end
#= exit data: is not made of whole instructions from begin to end
	FUNC data
	mov	9f(%rip), %eax
	ret
9:	.long	0x90909090
	END data

# ---- by name, and what else must stay

#= entry vfork: is one of the functions that must stay as they are
#= exit vfork: is one of the functions that must stay as they are
	FUNC vfork
	mov	$1, %eax
	ret
	END vfork

#= entry _dl_runtime_resolve_xsavec: is one of the functions that must stay as they are
#= exit _dl_runtime_resolve_xsavec: is one of the functions that must stay as they are
	FUNC _dl_runtime_resolve_xsavec
	mov	$1, %eax
	ret
	END _dl_runtime_resolve_xsavec

#= entry resolver: chooses a function while the program is loaded
#= exit resolver: chooses a function while the program is loaded
	FUNC resolver
	mov	$1, %eax
	ret
	END resolver
	.type	resolver, @gnu_indirect_function

#= entry rseq: has a restartable sequence or a system call whose place is compared
#= exit rseq: has a restartable sequence or a system call whose place is compared
	FUNC rseq
	mov	$1, %eax
.Lrseq:	mov	$2, %eax
	ret
	END rseq
	.section __rseq_cs, "aw", @progbits
	.p2align 5
	.long	0, 0
	.quad	.Lrseq, 5, rseq
	.text

# A handler compares pcs with these labels, as in musl's __syscall_cp_asm.
#= entry cancellable: has a restartable sequence or a system call whose place is compared
#= exit cancellable: has a restartable sequence or a system call whose place is compared
	FUNC cancellable
	mov	$39, %eax
.Lcancel:
	syscall
	ret
	END cancellable
#= entry handler: 0+7
#= exit handler: 7+5 at 0 leaves
	FUNC handler
	lea	.Lcancel(%rip), %rdx
	ret
	END handler

# ---- instructions

	.macro NEVER name, instruction:vararg
	FUNC never_\name
	\instruction
	mov	$1, %eax
	ret
	END never_\name
	.endm
#= entry never_syscall: has an instruction there that cannot be moved
	NEVER syscall, syscall
#= entry never_sysenter: has an instruction there that cannot be moved
	NEVER sysenter, sysenter
#= entry never_int: has an instruction there that cannot be moved
	NEVER int, int $0x80
#= entry never_int3: has an instruction there that cannot be moved
	NEVER int3, int3
#= entry never_hlt: has an instruction there that cannot be moved
	NEVER hlt, hlt
#= entry never_in: has an instruction there that cannot be moved
	NEVER in, in %dx, %al
#= entry never_out: has an instruction there that cannot be moved
	NEVER out, out %al, %dx
#= entry never_rep: has an instruction there that cannot be moved
	NEVER rep, rep movsb
#= entry never_movs: has an instruction there that cannot be moved
	NEVER movs, movsb
#= entry never_lock: has an instruction there that cannot be moved
	NEVER lock, lock incl (%rdi)
#= entry never_xchg: has an instruction there that cannot be moved
	NEVER xchg, xchg %eax, (%rdi)
#= entry never_loop: has an instruction there that cannot be moved
	NEVER loop, loop never_loop+5
#= entry never_jrcxz: has an instruction there that cannot be moved
	NEVER jrcxz, jrcxz never_jrcxz+5
#= entry never_xbegin: has an instruction there that cannot be moved
	NEVER xbegin, xbegin never_xbegin+5
#= entry never_xend: has an instruction there that cannot be moved
	NEVER xend, xend
#= entry never_cpuid: has an instruction there that cannot be moved
	NEVER cpuid, cpuid
#= entry never_rdtsc: has an instruction there that cannot be moved
	NEVER rdtsc, rdtsc
#= entry never_rdtscp: has an instruction there that cannot be moved
	NEVER rdtscp, rdtscp
#= entry never_mfence: has an instruction there that cannot be moved
	NEVER mfence, mfence
#= entry never_lfence: has an instruction there that cannot be moved
	NEVER lfence, lfence
#= entry never_sfence: has an instruction there that cannot be moved
	NEVER sfence, sfence
#= entry never_popf: has an instruction there that cannot be moved
	NEVER popf, popf
#= entry never_pushf: has an instruction there that cannot be moved
	NEVER pushf, pushf
#= entry never_std: has an instruction there that cannot be moved
	NEVER std, std
#= entry never_cld: has an instruction there that cannot be moved
	NEVER cld, cld
#= entry never_segment: has an instruction there that cannot be moved
	NEVER segment, mov %eax, %ds
#= entry never_segment_read: has an instruction there that cannot be moved
	NEVER segment_read, mov %ds, %eax
#= entry never_wrfsbase: has an instruction there that cannot be moved
	NEVER wrfsbase, wrfsbase %rax
#= entry never_swapgs: has an instruction there that cannot be moved
	NEVER swapgs, swapgs
#= entry never_call_register: has an instruction there that cannot be moved
	NEVER call_register, call *%rax
#= entry never_call_memory: has an instruction there that cannot be moved
	NEVER call_memory, call *pointer(%rip)
#= entry never_call_prefix: has an instruction there that cannot be moved
	NEVER call_prefix, data16 call plain
#= entry never_fnsave: has an instruction there that cannot be moved
	NEVER fnsave, fnsave (%rdi)
#= entry never_fxsave: has an instruction there that cannot be moved
	NEVER fxsave, fxsave (%rdi)
#= entry never_xsave: has an instruction there that cannot be moved
	NEVER xsave, xsave (%rdi)
#= entry never_enter: has an instruction there that cannot be moved
	NEVER enter, enter $8, $0
#= entry never_lcall: has an instruction there that cannot be moved
	NEVER lcall, lcall *(%rdi)
#= entry never_lret: has an instruction there that cannot be moved
	NEVER lret, lretq
#= entry never_iret: has an instruction there that cannot be moved
	NEVER iret, iretq
#= entry never_eip: has an instruction there that cannot be moved
	NEVER eip, mov datum(%eip), %eax
#= entry never_gather: has an instruction there that cannot be moved
	NEVER gather, vpgatherdd %xmm1, (%rdi,%xmm2,4), %xmm3
#= entry never_cmpxchg: has an instruction there that cannot be moved
	NEVER cmpxchg, cmpxchg %eax, (%rdi)
#= entry never_maskmov: has an instruction there that cannot be moved
	NEVER maskmov, maskmovdqu %xmm0, %xmm1
#= entry never_ud2: has an instruction there that cannot be moved
	NEVER ud2, ud2
#= entry never_pause: has an instruction there that cannot be moved
	NEVER pause, pause
#= entry never_rdrand: has an instruction there that cannot be moved
	NEVER rdrand, rdrand %eax
#= entry never_syscall_second: 0+5
	FUNC never_syscall_second
	mov	$39, %eax		# 5: the syscall stays where it is
	syscall
	ret
	END never_syscall_second
#= exit never_syscall_second: 7+5 at 0 leaves

	.macro MOVES name, instruction:vararg
	FUNC moves_\name
	\instruction
	mov	$0x12345678, %eax	# 5
	ret
	END moves_\name
	.endm
# A mov of 5 bytes follows where one is too short.
#= entry moves_lea: 0+7
	MOVES lea, lea datum(%rip), %rax
#= entry moves_load_own: 0+7
	MOVES load_own, mov datum(%rip), %rax
#= entry moves_store_own: 0+7
	MOVES store_own, mov %rax, datum(%rip)
#= entry moves_imm_own: 0+10
	MOVES imm_own, movl $1, datum(%rip)
#= entry moves_stack: 0+5
	MOVES stack, mov 8(%rsp), %rax
#= entry moves_stack_index: 0+5 may fault
	MOVES stack_index, mov 8(%rsp,%rax), %rax
#= entry moves_load: 0+7 may fault
	MOVES load, mov 0x1000(%rdi), %rax
#= entry moves_frame: 0+7 may fault
	MOVES frame, mov 0x1000(%rbp), %rax
#= entry moves_tls: 0+9 may fault
	MOVES tls, mov %fs:0x28, %rax
#= entry moves_divides: 0+7 may fault
	MOVES divides, div %ecx
#= entry moves_alu: 0+6
	MOVES alu, add $0x12345678, %rax
#= entry moves_cmov: 0+9
	MOVES cmov, cmovz %rax, %rbx
#= entry moves_setcc: 0+8
	MOVES setcc, setz %al
#= entry moves_shift: 0+9
	MOVES shift, shl $3, %rax
#= entry moves_movzx: 0+8
	MOVES movzx, movzbl %al, %eax
#= entry moves_sse: 0+5
	MOVES sse, movaps %xmm0, 0x10(%rsp)
#= entry moves_sse_own: 0+7
	MOVES sse_own, movups datum(%rip), %xmm0
#= entry moves_arithmetic: 0+9
	MOVES arithmetic, mulsd %xmm1, %xmm0
#= entry moves_avx: 0+9
	MOVES avx, vaddps %ymm0, %ymm1, %ymm2
#= entry moves_long_nop: 0+9
	MOVES long_nop, nopw 0x1000(%rdi,%rax)
#= entry moves_pop: 0+6
	MOVES pop, pop %rbx
#= entry moves_push_memory: 0+6 may fault
	MOVES push_memory, pushq 0x12345678(%rdi)
#= entry moves_leave: 0+6
	MOVES leave, leave
#= entry moves_movabs: 0+10
	MOVES movabs, movabs $0x123456789abcdef0, %rax
#= entry moves_sub_rsp: 0+7
	MOVES sub_rsp, sub $0x1000, %rsp
#= entry moves_xchg: 0+6
	MOVES xchg, xchg %eax, %ebx
# ---- pages: 5 bytes from offset 4091 on are in one page, from 4092 on in two

	.section .text.page, "ax", @progbits
	.p2align 12
	.skip	4091, 0xcc
#= entry page_end: 0+5
#= exit page_end: 5+5 at 0 leaves
	.type	page_end, @function
page_end:
	.cfi_startproc
	mov	$1, %eax
	ret
	END page_end
	.p2align 12
	.skip	4092, 0xcc
#= entry page_cross: would be replaced across two pages
#= exit page_cross: 5+5 at 0 leaves
	.type	page_cross, @function
page_cross:
	.cfi_startproc
	mov	$1, %eax
	ret
	END page_cross
	.text

# ---- sites

#= entry sites: 0+5
#= exit sites: 36+5 at 0 leaves
#= site first: 0+6 at 0
#= site second: -4+5 at 4
#= site third: has a jump target inside the bytes that would be replaced
#= site not_nop: is not a nop
#= site between: is not where an instruction begins
	FUNC sites
	mov	$1, %eax		# 5
	SITE first			# 1, at 5, and 5 behind it
	mov	$2, %eax		# 5
	cmp	$1, %edi		# 3, at 11
	je	1f			# 2, at 14
	lea	1(%rax), %rax		# 4, at 16
	SITE second			# 1, at 20: behind it is what cannot be moved
	syscall				# 2
	jz	2f			# 2, at 23
1:	SITE third			# at 25: a target at 26, and a jump before it
2:	cmp	$0x12345678, %edi	# 6, at 26
	mov	%eax, %eax		# 2
	mov	%eax, %eax		# 2
	ret				# at 36
	END sites
	.section test.sites, "", @progbits
	.quad	sites
	.ascii	"not_nop"
	.p2align 5
	.quad	sites + 1
	.ascii	"between"
	.p2align 5
	.quad	no_frame
	.ascii	"no_frame"
	.p2align 5
#= site no_frame: has no unwinding information
	.text

	.data
datum:	.quad	0
	.section .note.GNU-stack, "", @progbits
