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
	STAP_PROBEV(provider, variadic)
	STAP_PROBEV(provider, variadic2, -4@%eax, 8@%rdi)
	xorl %eax, %eax
	ret
	.section .note.GNU-stack, "", %progbits
