# SPDX-License-Identifier: BSD-2-Clause
# recognize.h compiles without a library in C89, C++98 and as BPF, for every target, and needs nothing at link time.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc g++

cat >use.c <<'EOF'
#include <fastsdt/recognize.h>
#include <fastsdt/recognize.h>
#ifdef __cplusplus
extern "C"
#endif
int layout_of(const unsigned char *bytes, unsigned long size);
int layout_of(const unsigned char *bytes, unsigned long size)
{
    struct fastsdt_recognized r;
    return fastsdt_recognize(&r, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_OTHER, bytes, size) + r.state + r.breakpoints;
}
EOF
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror"
freestanding="-ffreestanding -nostdinc -I$INCLUDE"
compiled=0
compile() { # COMPILER [OPTION...]
    have "$1" || return 0
    local opt
    for opt in ${levels:--O0 -O2}; do
        "$@" $opt $warnings $freestanding -c use.c -o use.o || fail "$* $opt"
        undefined=$(nm -u use.o | grep -vE '_GLOBAL_OFFSET_TABLE_|TOC' || true)
        expect "undefined symbols with $* $opt" "$undefined" ""
    done
    compiled=$((compiled + 1))
}
for cc in gcc $(installed gcc) $(installed clang); do
    for std in c89 gnu89 c99 c11 c2x; do compile $cc -std=$std; done
done
for cxx in g++ $(installed clang++); do
    for std in c++98 c++11 c++20; do compile $cxx -x c++ -std=$std; done
done
compile gcc -std=c89 -mno-red-zone -mcmodel=kernel -fno-pic -mno-sse # as in a kernel
for triplet in aarch64-linux-gnu arm-linux-gnueabihf riscv64-linux-gnu powerpc64le-linux-gnu s390x-linux-gnu \
    mips64el-linux-gnuabi64; do
    compile $triplet-gcc -std=c89
done
levels=-O2 compile "$(newest clang)" -std=c89 --target=bpf # its stack has 512 bytes: nobody compiles for it without -O2
echo "compiled with $compiled compilers and dialects"
[ $compiled -ge 10 ] || fail "too few compilers"
