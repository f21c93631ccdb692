#!/bin/bash
# A section of code has one pair of note sections for all its sites, linked to it: that keeps gas fast and objects small.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "counts bytes of 64-bit notes"

cat > some.c <<'E'
#include <sys/sdt.h>
#include "usdt.h"
int hot(int i);
int other(int i);
int hot(int i) { FASTSDT(sections, hot, i); STAP_PROBE1(sections, hot, i); USDT(sections, hot, i); return i; }
__attribute__((section(".text.own"))) int own(int i);
__attribute__((section(".text.own"))) int own(int i) { FASTSDT(sections, own, i); FASTSDT(sections, own, 2, i); return i; }
int other(int i) { USDT_WITH_SEMA(sections, other, i); FASTSDT(sections, other, i); return i; }
E
cat > some.S <<'E'
#include "fastsdt.h"
#include <sys/sdt.h>
	.text
hot:
	FASTSDT(sections, hot, -4@%eax)
	STAP_PROBE1(sections, hot, -4@%eax)
	.section .text.hot, "ax", %progbits
	STAP_PROBE(sections, own)
	.altmacro
	STAP_PROBE(sections, own)
	.noaltmacro
	.section .note.GNU-stack, "", %progbits
E
# Of each pair of note sections: the code that it is linked to, and how many sites it describes.
cat > sections.py <<'E'
import subprocess, sys
rows = {}
for line in subprocess.run(["readelf", "-SW", sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
    number, bracket, rest = line.strip().lstrip("[").partition("]")
    words = rest.split()
    if bracket and number.strip().isdigit() and len(words) >= 9:
        rows[int(number)] = words[0], int(words[4], 16), int(words[-3])
stap = [(rows[link][0], size) for name, size, link in rows.values() if name == ".note.stapsdt"]
layout = [(rows[link][0], size) for name, size, link in rows.values() if name == ".note.fastsdt"]
assert [code for code, size in stap] == [code for code, size in layout], (stap, layout)
print(" ".join(f"{code}:{size // (12 + 8 + 8 + 16)}" for code, size in layout))
E
sections() { $python sections.py "$1"; }
for c in $(have_of gcc-11 gcc-12); do
    [[ $c = gcc* ]] || continue             # clang's assembler: a pair for each site
    [ "$(ungrouped $c)" = 0 ] || continue   # no link order
    for lang in c c++; do
        [ $lang = c ] || have ${c/gcc/g++} || continue
        for options in "-O2" "-O0 -g" "-O2 -fPIC -fcf-protection"; do
            $c $options -fno-toplevel-reorder -I"$INCLUDE" -x $lang -c some.c -o some.o
            # A return to .text counts as a new section: only the section before is known.
            expect "$c -x $lang $options" "$(sections some.o)" ".text:3 .text.own:2 .text:2"
            $c $options -fno-toplevel-reorder -ffunction-sections -I"$INCLUDE" -x $lang -c some.c -o some.o
            expect "$c -x $lang $options -ffunction-sections" "$(sections some.o | sed 's/[^ ]*://g')" "3 2 2"
        done
    done
    $c -I"$INCLUDE" -c some.S -o some.o
    expect "$c, assembly" "$(sections some.o)" ".text:2 .text.hot:2"
    # As many sections for 4,000 sites as for 2, hence an object of less than 200 bytes a site.
    {
        echo '#include "fastsdt.h"'
        for i in $(seq 100); do
            printf 'void f%d(int a);\nvoid f%d(int a) {' $i $i
            printf 'FASTSDT(p, n, a);%.0s' $(seq 40)
            echo '}'
        done
    } > many.c
    $c -O1 -I"$INCLUDE" -c many.c -o many.o
    expect "$c, 4,000 sites" "$(sections many.o)" ".text:4000"
    [ "$(stat -c %s many.o)" -lt 800000 ] || fail "$c: $(stat -c %s many.o) bytes for 4,000 sites"
done
# clang: a pair for each site, and no more (docs/recorded/linking.md): two headers of a section and of its relocations, 64 bytes each, are 256 of
# them.
for c in $(have_of clang-14 clang-19); do
    [ -e many.c ] || break
    head -n 7 many.c > few.c
    $c -O1 -I"$INCLUDE" -c few.c -o few.o
    expect "$c, pairs" "$(readelf -SW few.o | grep -c ' \.note\.stapsdt ')" 120
    [ "$(stat -c %s few.o)" -lt $((120 * 570 + 1000)) ] || fail "$c: $(stat -c %s few.o) bytes for 120 sites"
done
