// SPDX-License-Identifier: BSD-2-Clause
// As rules.s, for arm64: a function for each rule. Every instruction is a word, and a jump takes the place of one.
	.macro FUNC name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	.endm
	.macro END name
	.cfi_endproc
	.size	\name, . - \name
	.endm
	// Sites: a name and an instruction.
	.macro SITE name, instruction:vararg
	.pushsection test.sites, "", %progbits
	.quad	99f
	.ascii	"\name"
	.p2align 5
	.popsection
99:	\instruction
	.endm
	// A function of which the first instruction matters.
	.macro FIRST name, instruction:vararg
	FUNC \name
	\instruction
	ret
	END \name
	.endm
	.arch armv8.5-a+memtag
	.text
//= entry plain: 0+4
//= exit plain: 12+4 at 0 leaves
	FUNC plain
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov	x29, sp
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	END plain

// ---- landing pads stay

//= entry behind_bti: 4+4 leaves
//= entry behind_bti_jc: 4+4 leaves
//= entry behind_paciasp: 4+4
//= entry behind_both: 4+4
//= entry only_bti: has too few bytes there
	FIRST behind_bti, bti c
	FIRST behind_bti_jc, bti jc
	FUNC behind_paciasp
	paciasp
	.cfi_negate_ra_state
	autiasp
	.cfi_negate_ra_state
	ret
	END behind_paciasp
	FUNC behind_both
	bti	c
	paciasp
	.cfi_negate_ra_state
	retaa
	END behind_both
//= exit behind_both: 8+4 at 0 leaves
	FUNC only_bti
	bti	c
	END only_bti
//= exit only_bti: runs into what stands behind it

// ---- loops

//= entry loop: jumps back to its entry
//= exit loop: 8+4 at 0 leaves
	FUNC loop
	sub	x0, x0, 1
	cbnz	x0, loop
	ret
	END loop
//= entry loop_behind_bti: jumps back to its entry
	FUNC loop_behind_bti
	bti	c
1:	sub	x0, x0, 1
	tbz	x0, 3, 1b
	ret
	END loop_behind_bti
// A jump to the second instruction is none.
//= entry second: 0+4
	FUNC second
	mov	x1, 0
1:	sub	x0, x0, 1
	cbnz	x0, 1b
	ret
	END second
// A call is none.
//= entry recursion: 0+4 calls
	FUNC recursion
	bl	recursion
	ret
	END recursion

// ---- ways out

//= entry branch: 0+4 leaves
//= exit branch: 0+4 at 0 leaves tail
	FUNC branch
	b	plain
	END branch
//= exit inside: 8+4 at 0 leaves
	FUNC inside
	cbz	x0, 1f
	b	1f
1:	ret
	END inside
//= exit conditional: leaves by a conditional jump
//= exit conditional: 4+4 at 0 leaves
	FUNC conditional
	b.eq	plain
	ret
	END conditional
// Something is on the stack: no tail call. Of returns compilers do not always say that it is not.
//= exit deep: has a jump or return that may not be an exit
//= exit deep: 8+4 at 0 leaves
	FUNC deep
	sub	sp, sp, 16
	.cfi_def_cfa_offset 16
	cbz	x0, 1f
	ret
1:	b	plain
	END deep
//= entry begins_deep: begins with something on the stack
	FUNC begins_deep
	.cfi_def_cfa_offset 16
	ret
	END begins_deep
//= exit key_b: 0+4 at 0 leaves
	FUNC key_b
	.cfi_b_key_frame
	retab
	END key_b
//= exit tail_register: 4+4 at 0 leaves tail
	FUNC tail_register
	ldr	x1, [x0]
	br	x1
	END tail_register
//= exit never: none
	FUNC never
	bl	plain
	brk	1000
	END never
//= exit open: runs into what stands behind it
	FUNC open
	bl	plain
	mov	x0, 0
	END open
// A return by another register, which is no return.
//= exit other_register: has an instruction there that cannot be moved
	FUNC other_register
	ret	x5
	END other_register

// A part of another function: nobody calls it.
//= entry whole: 0+4
//= exit whole: 4+4 at 0 leaves
//= exit whole: 20+4 at 0 leaves
	FUNC whole
	cbz	x0, whole.cold
	ret
	END whole
	FUNC whole.cold
	mov	x0, 1
	ret
	END whole.cold
// Its address is taken by two instructions with others between: no part.
//= entry pointed: 0+4 leaves
//= exit pointed: 0+4 at 0 leaves
//= exit only_user: 0+4 at 0 leaves tail
	FUNC only_user
	b	pointed
	END only_user
	FUNC pointed
	ret
	END pointed
	FUNC taker
	adrp	x3, pointed
	mov	x0, 0
	add	x3, x3, :lo12:pointed
	str	x3, [x1]
	ret
	END taker
// An address inside, by one instruction and by data.
//= exit inside_taken: has instructions whose addresses are taken
//= exit by_data: has instructions whose addresses are taken
	FUNC inside_taken
	adr	x0, 1f
	str	x0, [x1]
1:	ret
	END inside_taken
	FUNC by_data
	mov	x0, 0
.Lby_data:
	ret
	END by_data
	.data
	.p2align 3
	.quad	.Lby_data
	.text

// ---- tables of a switch

// GCC: bytes, from an address in the function.
//= entry switch_bytes: 0+4
//= exit switch_bytes: 32+4 at 0 leaves
//= exit switch_bytes: 40+4 at 0 leaves
	FUNC switch_bytes
	cmp	w0, 1
	b.hi	2f
	adrp	x1, .Lbytes
	add	x1, x1, :lo12:.Lbytes
	ldrb	w1, [x1, w0, uxtw]
	adr	x0, 1f
	add	x1, x0, w1, sxtb 2
	br	x1
1:	ret
	nop
2:	ret
	END switch_bytes
	.section .rodata
.Lbytes:
	.byte	0, 2
	.text
// LLVM: words, from the table. One leads to the begin.
//= entry switch_words: jumps back to its entry
//= exit switch_words: 32+4 at 0 leaves
	FUNC switch_words
	cmp	w0, 1
	b.hi	1f
	mov	w8, w0
	adrp	x9, .Lwords
	add	x9, x9, :lo12:.Lwords
	ldrsw	x10, [x9, x8, lsl 2]
	add	x9, x9, x10
	br	x9
1:	ret
	END switch_words
	.section .rodata
	.p2align 2
.Lwords:
	.word	1b - ., switch_words - . + 4
	.text
// How many there are is not known: it may lead to the begin, unless something is on the stack.
//= entry switch_unknown: has an indirect jump whose targets are not known
//= exit switch_unknown: has an indirect jump whose targets are not known
	FUNC switch_unknown
	adr	x0, 1f
	adrp	x1, .Lbytes
	add	x1, x1, :lo12:.Lbytes
	ldrb	w1, [x1, w2, uxtw]
	add	x1, x0, x1, lsl 2
	br	x1
1:	ret
	END switch_unknown
//= entry switch_deep: 0+4
//= exit switch_deep: 32+4 at 0 leaves
	FUNC switch_deep
	sub	sp, sp, 16
	.cfi_def_cfa_offset 16
	adr	x0, 1f
	adrp	x1, .Lbytes
	add	x1, x1, :lo12:.Lbytes
	ldrb	w1, [x1, w2, uxtw]
	add	x1, x0, x1, lsl 2
	br	x1
1:	add	sp, sp, 16
	.cfi_def_cfa_offset 0
	ret
	END switch_deep
// Computed gotos: the table has addresses.
//= exit computed: has an indirect jump whose targets are not known
	FUNC computed
	adrp	x1, .Llabels
	add	x1, x1, :lo12:.Llabels
	ldr	x1, [x1, x0, lsl 3]
	br	x1
1:	mov	x0, 1
2:	ret
	END computed
	.section .data.rel.ro, "aw"
	.p2align 3
.Llabels:
	.quad	1b, 2b
	.text

// ---- instructions

//= entry i_adr: 0+4
//= entry i_adrp: 0+4
//= entry i_ldr: 0+4
//= entry i_ldr_far: 0+4
//= entry i_ldr_vector: 0+4
//= entry i_prfm: 0+4
//= entry i_cbz: 0+4
//= entry i_tbnz: 0+4
//= entry i_bcond: 0+4
//= entry i_load: 0+4 may fault
//= entry i_stack: 0+4
//= entry i_stack_index: 0+4 may fault
//= entry i_store: 0+4 may fault
//= entry i_prefetch: 0+4
//= entry i_add: 0+4
//= entry i_fadd: 0+4
//= entry i_atomic: 0+4 may fault
//= entry i_cas: 0+4 may fault
//= entry i_acquire: 0+4 may fault
//= entry i_structure: 0+4 may fault
//= entry i_dmb: 0+4
//= entry i_flags: 0+4
//= entry i_thread: 0+4
//= entry i_paciasp: 4+4 leaves
//= entry i_xpaci: 0+4
	FIRST i_adr, adr x0, plain
	FIRST i_adrp, adrp x0, plain
	FIRST i_ldr, ldr x0, .Lliteral
	FIRST i_ldr_far, ldrsw x0, .Lliteral
	FIRST i_ldr_vector, ldr q0, .Lliteral
	FIRST i_prfm, prfm pldl1keep, .Lliteral
	FIRST i_cbz, cbz x0, .+4
	FIRST i_tbnz, tbnz x0, 5, .+4
	FIRST i_bcond, b.lt .+4
	FIRST i_load, ldr x0, [x1, 8]
	FIRST i_stack, ldp q0, q1, [sp, 32]
	FIRST i_stack_index, ldr x0, [sp, x1]
	FIRST i_store, strb w0, [x1], 1
	FIRST i_prefetch, prfm pldl1keep, [x1]
	FIRST i_add, adds w0, w1, w2, lsl 3
	FIRST i_fadd, fadd d0, d1, d2
	FIRST i_atomic, ldadd x0, x1, [x2]
	FIRST i_cas, cas x0, x1, [x2]
	FIRST i_acquire, ldar x0, [x1]
	FIRST i_structure, ld1 {v0.16b, v1.16b}, [x0], 32
	FIRST i_dmb, dmb ish
	FIRST i_flags, msr fpcr, x0
	FIRST i_thread, mrs x0, tpidr_el0
	FIRST i_paciasp, paciasp
	FIRST i_xpaci, xpaci x0

//= entry no_svc: has an instruction there that cannot be moved
//= entry no_brk: has an instruction there that cannot be moved
//= entry no_hlt: has an instruction there that cannot be moved
//= entry no_wfe: has an instruction there that cannot be moved
//= entry no_wfi: has an instruction there that cannot be moved
//= entry no_blr: has an instruction there that cannot be moved
//= entry no_blraa: has an instruction there that cannot be moved
//= entry no_braa: has an instruction there that cannot be moved
//= entry no_ldxr: has an instruction there that cannot be moved
//= entry no_stxr: has an instruction there that cannot be moved
//= entry no_casp: has an instruction there that cannot be moved
//= entry no_clrex: has an instruction there that cannot be moved
//= entry no_daif: has an instruction there that cannot be moved
//= entry no_dc: has an instruction there that cannot be moved
//= entry no_tpidr: has an instruction there that cannot be moved
//= entry no_always: has an instruction there that cannot be moved
//= entry no_tag: has an instruction there that cannot be moved
	FIRST no_svc, svc 0
	FIRST no_brk, brk 0
	FIRST no_hlt, hlt 0
	FIRST no_wfe, wfe
	FIRST no_wfi, wfi
	FIRST no_blr, blr x0
	FIRST no_blraa, blraa x0, x1
	FIRST no_braa, braa x0, x1
	FIRST no_ldxr, ldxr x0, [x1]
	FIRST no_stxr, stxr w0, x1, [x2]
	FIRST no_casp, casp x0, x1, x2, x3, [x4]
	FIRST no_clrex, clrex
	FIRST no_daif, mrs x0, daif
	FIRST no_dc, dc zva, x0
	FIRST no_tpidr, msr tpidr_el0, x0
	FIRST no_always, b.al .+4
	FIRST no_tag, stg x0, [x0]
// Newer ones, which this assembler may not know: paciasppc, autiasppc, movprfx z0, z1, cpyfp, a load of two words at once with a tag.
//= entry no_paciasppc: has an instruction there that cannot be moved
//= entry no_autiasppc: has an instruction there that cannot be moved
//= entry no_movprfx: has an instruction there that cannot be moved
//= entry no_cpyfp: has an instruction there that cannot be moved
	FIRST no_paciasppc, .inst 0xdac1a3fe
	FIRST no_autiasppc, .inst 0xf380001f
	FIRST no_movprfx, .inst 0x0420bc20
	FIRST no_cpyfp, .inst 0x19010440

// Between a load and a store of the same sequence.
//= exit between: 12+4 at 0 leaves
//= exit between: has an instruction there that cannot be moved
	FUNC between
1:	ldxr	x1, [x0]
	cbz	x1, 2f
	stxr	w2, x3, [x0]
	ret
2:	ldxr	x1, [x0]
	ret
	END between

// ---- data

//= entry literals: is not made of whole instructions from begin to end
	FUNC literals
	ldr	x0, 1f
	ret
1:	.quad	0x1234567890
	END literals
// Read by two instructions.
//= entry literals_far: is not made of whole instructions from begin to end
	FUNC literals_far
	adrp	x0, 1f
	ldr	x0, [x0, :lo12:1f]
	ret
	nop
1:	.inst	0xd503201f, 0xd503201f
	END literals_far
// The assembler says that it is data.
//= entry marked: is not made of whole instructions from begin to end
	FUNC marked
	ret
	.word	0xd503201f
	END marked
//= entry udf: is not made of whole instructions from begin to end
	FUNC udf
	ret
	udf	0
	END udf

// ---- others

//= entry system_call: has a restartable sequence or a system call whose place is compared
	FUNC system_call
	mov	x8, 1
	svc	0
.Lsystem_call:
	ret
	END system_call
	.data
	.quad	.Lsystem_call
	.text
//= entry vfork: is one of the functions that must stay as they are
	FUNC vfork
	ret
	END vfork
//= entry no_frame: has no unwinding information
	.type	no_frame, %function
no_frame:
	ret
	.size	no_frame, 4
//= entry resolver: chooses a function while the program is loaded
	FUNC resolver
	ret
	END resolver
	.type	resolver, %gnu_indirect_function

//= site nop: 0+4 at 0
//= site no_nop: is not a nop
	FUNC sites
	SITE nop, nop
	SITE no_nop, mov x0, x0
	ret
	END sites
	.section .rodata
	.p2align 4
.Lliteral:
	.quad	1, 2
	.section .note.GNU-stack, "", %progbits
