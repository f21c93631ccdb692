#!/bin/bash
# A site belongs to the source line of its macro: a debugger's `break file.c:LINE` stops at the site or before it, never
# behind. Read from the line table by the debugger.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the layouts are those of x86-64"
need gdb

cat > lines.c <<'E'
#include <sys/sdt.h>
#include "usdt.h"
int value = 1;
int main(void)
{
    value++;
    FASTSDT(lines, l7);
    value++;
    STAP_PROBE1(lines, l9, 5);
    USDT(lines, l10);
    FASTSDT_WITH(nop, none, lines, l11);
    FASTSDT_WITH(nop1_nop4, implicit, lines, l12);
    FASTSDT_WITH(nop1_nop5, none, lines, l13);
#ifndef MNEMONICS_ONLY
    FASTSDT_WITH(nop5, none, lines, l15);
    FASTSDT_WITH(nop10, none, lines, l16, 3);
    FASTSDT_WITH(nop10, none, lines, l17);
#endif
    return value - 3;
}
E
cat > lines.S <<'E'
#include "fastsdt.h"
	.text
	.globl main
	.type main, @function
main:
	xorl %eax, %eax
	FASTSDT(lines, l7)
	leal 1(%rax), %eax
	FASTSDT(lines, l9, %eax)
	FASTSDT_WITH(nop, none, lines, l10)
	FASTSDT_WITH(nop1_nop4, implicit, lines, l11)
	FASTSDT_WITH(nop1_nop5, none, lines, l12)
#ifndef __clang__
	FASTSDT_WITH(nop5, none, lines, l14)
	FASTSDT_WITH(nop10, none, lines, l15)
#endif
	xorl %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", %progbits
E
judge() { # judge WHAT FILE SOURCE
    notes $2 '{name} {pc:#x}' > sites
    sed 's/^[^ ]* /info line */' sites > gdb.in
    gdb -nx -batch -x gdb.in $2 > gdb.out 2>&1
    sed -n 's/^Line \([0-9]*\) of "\([^"]*\)".*/l\1 \2/p' gdb.out > got
    sed 's/ .*/ '$3/ sites > want
    cmp -s got want || fail "$1: lines of the sites: $(diff want got)"
}
for c in $(have_of gcc-11 gcc-12 clang-14 clang-19); do
    for options in "-g -O0" "-g -O2" "-g1 -O2" "-g1 -O0" "-g -O0 -gdwarf-4" \
        "-g -O0 -fno-integrated-as -DMNEMONICS_ONLY" "-g -O0 -ffunction-sections -fcf-protection"; do
        case $c:$options in gcc*integrated*) continue ;; esac
        $c $options $optin -I"$INCLUDE" lines.c -o lines
        judge "$c $options" lines lines.c
    done
    $c -g $optin -I"$INCLUDE" lines.S -o lines
    judge "$c lines.S" lines lines.S
done
