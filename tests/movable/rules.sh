#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Which instructions can be moved, rule by rule. What is expected of each function stands at the function, in lines that begin with "#= ".
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc readelf
[ "$(uname -m)" = x86_64 ] || skip "the functions are x86-64 code"
dump() { "$FASTSDT_BUILD/bin/movable_dump" "$@"; }
# compare SOURCE FILE: functions of which nothing is expected are passed over.
compare() {
    sed -n 's,^\(#\|//\)= ,,p' "$1" | sort >expected
    dump "$2" | awk 'NR == FNR { known[$1 " " $2] = 1; next } ($1 " " $2) in known || $1 == "site"' expected - | sort >got
    diff -u expected got || fail "$2"
}
source=$FASTSDT_SOURCE/tests/movable
gcc -shared -nostdlib -o rules.so "$source/rules.s" || skip "this assembler does not know all instructions"
compare "$source/rules.s" rules.so

# The same pointers, packed.
if gcc -shared -nostdlib -Wl,-z,pack-relative-relocs -o packed.so "$source/rules.s" 2>/dev/null && readelf -SW packed.so | matches relr.dyn; then
    compare "$source/rules.s" packed.so
fi
# A program that is linked to its addresses.
gcc -nostdlib -static -no-pie -Wl,-e,plain -o fixed "$source/fixed.s"
compare "$source/fixed.s" fixed

# All of a file.
all_of() { dump "$1" | cut -d: -f2 | sort -u; }
gcc -c -o rules.o "$source/rules.s"
expect "object" "$(all_of rules.o)" " is in a file that is not linked, or has no code"
gcc -shared -nostdlib -Wl,-soname,ld-linux-x86-64.so.2 -o loader.so "$source/rules.s"
expect "loader" "$(all_of loader.so)" " is in the dynamic linker, which runs before it has relocated itself"
printf 'int f(int a) { return a + 1; }\n' >f.c
if have riscv64-linux-gnu-gcc; then
    riscv64-linux-gnu-gcc -shared -nostdlib -o riscv.so f.c
    expect "riscv" "$(all_of riscv.so)" " is neither x86-64 nor arm64 code"
fi
# Go: nothing but single instructions.
cat "$source/rules.s" - >go.s <<'END'
	.section .go.buildinfo, "aw", @progbits
	.quad 0
END
gcc -shared -nostdlib -o go.so go.s
expect "Go, one instruction" "$(dump go.so | grep 'entry namer:')" "entry namer: 0+7"
expect "Go, two instructions" "$(dump go.so | grep 'entry conditional:')" \
    "entry conditional: is in a Go program, and has no instruction of five bytes there"
