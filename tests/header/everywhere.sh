#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every kind of argument with every compiler, target and standard of C and C++ that is here: what systemtap's header compiles, ours does,
# with as many probes and the same number, sizes and signs of arguments. Nothing is linked.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
peer= # systemtap's header where it is installed
for dir in /usr/include /usr/include/"$(gcc -print-multiarch)"; do [ ! -e "$dir/sys/sdt.h" ] || peer=$dir; done
mkdir -p theirs/sys
[ -z "$peer" ] || cp "$peer/sys/sdt.h" "$peer/sys/sdt-config.h" theirs/sys/

cat >port.S <<'E'
#include <sys/sdt.h>
	.text
	.globl assembly
assembly:
	STAP_PROBE(every, none)
	STAP_PROBE2(every, two, 4, 5)
	.section .foo, "a"
	.byte 1
	.text
	STAP_PROBE1(every, one, 6)
	.previous
	.byte 2
E
cells=0 differing=
# sizes OBJECT: probe, and of each argument the part up to its @
sizes() {
    readelf -nW "$1" 2>/dev/null | sed -n 's/^ *Name: /N /p; s/^ *Arguments: */A /p' | sed 's/f@/@/g' |
        awk '$1 == "N" { n = $2 } $1 == "A" { line = n; $0 = substr($0, 3)
            while (match($0, /(^| )-?[0-9]+@/)) { line = line " " substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } print line }' |
                sort | uniq
}
# cell COMPILER...: both names of ours compile; the probes are those of systemtap's header, if it compiles
cell() {
    local ours=theirs.txt
    cells=$((cells + 1))
    if ! "$@" -w -I"$INCLUDE" -c "$here/everywhere.c" -o ours.o 2>log ||
        ! "$@" -w -DUSDT_NAMES -I"$INCLUDE" -c "$here/everywhere.c" -o usdt.o 2>log; then
        if [ -z "$peer" ] || "$@" -w -Itheirs -c "$here/everywhere.c" -o theirs.o 2>/dev/null; then
            differing+="$*: $(grep -m 1 -i error log)"$'\n'
        fi
        return
    fi
    [ -n "$peer" ] && "$@" -w -Itheirs -c "$here/everywhere.c" -o theirs.o 2>/dev/null || return 0
    sizes theirs.o >theirs.txt
    for ours in ours usdt; do
        sizes $ours.o >$ours.txt
        diff theirs.txt $ours.txt >difference || differing+="$*, $ours: $(cat difference)"$'\n'
    done
}
# assembly COMPILER...: the same in .S, and .previous after a probe means what it meant before
assembly() {
    cells=$((cells + 1))
    "$@" -w -I"$INCLUDE" -c port.S -o port.o 2>log || { differing+="$*, .S: $(grep -m 1 -i error log)"$'\n'; return; }
    expect "$*: probes in assembly" "$(readelf -nW port.o | grep -c 'Provider: every')" 3
    expect "$*: .previous" "$(readelf -x .foo port.o | sed -n 's/^ *0x0* *\([0-9a-f]*\).*/\1/p')" 0102
}
cc=$(have_of gcc clang-19)
for c in $cc; do
    cxx=$(cxx_of "$c")
    for standard in c89 gnu11 c2x gnu2y c++98 gnu++11 c++17 c++20 c++26; do
        case $standard in *++*) language=c++ compiler=$cxx ;; *) language=c compiler=$c ;; esac
        "$compiler" -x $language -std=$standard -fsyntax-only /dev/null 2>/dev/null || continue
        for flags in "-O2 -fPIC" "-O0 -m32"; do
            ! echo 'int i;' | "$compiler" $flags -x $language -c - -o try.o 2>/dev/null || cell "$compiler" $flags -x $language -std=$standard
        done
    done
    assembly "$c"
done
# Other targets: gcc's, by name, and those of clang's that there are.
for machine in aarch64-linux-gnu arm-linux-gnueabihf riscv64-linux-gnu powerpc64le-linux-gnu powerpc-linux-gnu s390x-linux-gnu \
    mips64el-linux-gnuabi64 \
    mipsel-linux-gnu sparc64-linux-gnu hppa-linux-gnu sh4-linux-gnu alpha-linux-gnu m68k-linux-gnu; do
    for compiler in $machine-gcc $machine-g++; do
        have $compiler || continue
        case $compiler in *g++) language=c++ ;; *) language=c ;; esac
        cell $compiler -O2 -x $language
        [ $language = c++ ] || assembly $compiler
    done
done
clang=$(newest clang)
if have "$clang"; then
    cxx=$(cxx_of "$clang")
    for target in i386 aarch64 arm riscv64 riscv32 powerpc64le powerpc s390x mips64el mipsel sparc64 loongarch64 hexagon ve m68k; do
        triple=$target-linux-gnu
        [ $target != hexagon ] || triple=hexagon-linux-musl # for which clang defines __linux__
        "$clang" --target=$triple -x c -c /dev/null -o try.o 2>/dev/null || continue
        cell "$clang" --target=$triple -O2 -x c
        cell "$cxx" --target=$triple -O2 -x c++ -std=c++98
        cell "$cxx" --target=$triple -O1 -x c++ -std=c++20
    done
fi
[ -z "$differing" ] || fail "$differing"
[ $cells -gt 60 ] || fail "only $cells cells were tried"
