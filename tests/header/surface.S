/* Every macro that systemtap's header has for assembly; surface.sh assembles it with our header and with theirs. */
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define PROVIDER expanded
#define NAME too
	.text
	.globl main
main:
	STAP_PROBE(provider, none)
	STAP_PROBE1(provider, one, %eax)
	STAP_PROBE3(provider, three, -8(%rbp), %eax, $5)
	STAP_PROBE2(provider, signed, -4@%eax, 8@16(%rsp,%rcx,4))
	DTRACE_PROBE(provider, dtrace)
	DTRACE_PROBE12(provider, twelve, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
	STAP_PROBE1(PROVIDER, NAME, %edi)
	STAP_PROBE(provider, one_line) nop
	STAP_PROBE2(provider, one_line2, %eax, 4@%ecx) nop
#define PROBED(name, insn) STAP_PROBE1(provider, name, $3) insn
	PROBED(in_macro, nop)
	.macro probed insn
	STAP_PROBE1(provider, in_gas_macro, $4) \insn
	.endm
	probed nop
	.altmacro
	STAP_PROBE2(provider, altmacro, %eax, $5)
	probed nop
	.macro number x
	addl $\x, %ecx
	.endm
	number %1+1 /* the program's .altmacro is still on */
	.noaltmacro
	STAP_PROBEV(provider, variadic)
	STAP_PROBEV(provider, variadic2, -4@%eax, 8@%rdi)
	xorl %eax, %eax
	ret
	.section .note.GNU-stack, "", %progbits
