#!/bin/bash
# FASTSDT_DISABLE, and targets that are no Linux with ELF: no site, no note, arguments not evaluated, no warning, the same syntax.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"

warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror"
no_notes() { # FILE WHAT
    ! readelf -SW "$1" | matches -E 'stapsdt|note\.fastsdt|\.probes' || fail "$2: sections of a site in $1"
}

# Every macro of the three headers.
cp "$here/all.c" all.c
cp all.c all.cc
for c in $(have_of gcc-12 clang-14 clang-19); do
    for std in c89 c99 c2x; do
        $c -std=$std $warnings -DFASTSDT_DISABLE -I"$INCLUDE" -c all.c -o all.o || fail "$c -std=$std"
        no_notes all.o "$c -std=$std"
    done
    cxx=$(cxx_of "$c")
    have "$cxx" || continue
    for std in c++98 c++17 c++2b; do
        $cxx -std=$std $warnings -DFASTSDT_DISABLE -I"$INCLUDE" -c all.cc -o all.o || fail "$cxx -std=$std"
        no_notes all.o "$cxx -std=$std"
    done
done

# tcc cannot make probes. It says so once, unless that is intended. (gcc stands in for it; tcc itself where it is.)
printf '%s\n' '#include <fastsdt.h>' '#include <usdt.h>' '#include <sys/sdt.h>' \
    'int main(void) { FASTSDT(a, b, 1); USDT(a, c, 2); STAP_PROBE1(a, d, 3); return 0; }' >tcc.c
for c in "gcc -D__TINYC__" $(! have tcc || echo tcc); do
    $c -I"$INCLUDE" -c tcc.c -o tcc.o 2>said || fail "$c: $(cat said)"
    [ "$(grep -c 'warning:.*there are no probes' said)" = 1 ] || fail "$c: $(cat said)"
    no_notes tcc.o "$c"
    $c -DFASTSDT_DISABLE -I"$INCLUDE" -c tcc.c -o tcc.o 2>said || fail "$c -DFASTSDT_DISABLE: $(cat said)"
    [ ! -s said ] || fail "$c -DFASTSDT_DISABLE: $(cat said)"
done

# Names that only probes use make no warning, calls in arguments do not happen, and the code is that of a source without probes.
cat > off.c << 'END'
#ifdef WITHOUT
#define PROBES
#else
#include "fastsdt.h"
#include <sys/sdt.h>
#include "usdt.h"
#define PROBES \
    FASTSDT(p, a, only_here, called(), field.bits); \
    FASTSDT_WITH(nop, implicit, p, b, called()); \
    STAP_PROBE2(p, c, called(), set_only); \
    DTRACE_PROBE(p, d); \
    USDT(p, e, called()); \
    if (FASTSDT_IS_ACTIVE(p, b)) called();
#endif
int calls;
#ifndef WITHOUT
void own_asm(int i);
void own_asm(int i)
{
    (void)i;
    __asm__ __volatile__(STAP_PROBE_ASM(p, f, STAP_PROBE_ASM_TEMPLATE(2)) : : STAP_PROBE_ASM_OPERANDS(2, i, i));
}
static int called(void) { return ++calls; }
#endif
int f(int i);
int f(int i)
{
#ifndef WITHOUT
    int only_here = 3, set_only;
    struct { unsigned bits : 3; } field = {1};
    set_only = 4;
#endif
    PROBES
    return i + calls;
}
int main(void) { return f(0); }
END
for c in $(have_of gcc clang-19); do
    for level in -O0 -O2; do
        $c $level $warnings -DFASTSDT_DISABLE -I"$INCLUDE" off.c -o off || fail "$c $level"
        ./off || fail "$c $level: arguments are evaluated"
        no_notes off "$c $level"
    done
    $c -O2 -DFASTSDT_DISABLE -I"$INCLUDE" -c off.c -o off.o
    $c -O2 -DWITHOUT -c off.c -o without.o
    for o in off without; do objdump -d --no-addresses --disassemble=f $o.o | grep '^\s' > $o.asm; done
    [ -s off.asm ] || fail "$c: no code to compare"
    cmp -s off.asm without.asm || fail "$c: other code than without probes"$'\n'"$(diff off.asm without.asm)"
done

cat > object.cc << 'END'
#include "fastsdt.h"
#include <sys/sdt.h>
struct fixed { fixed() {} fixed(const fixed &) = delete; };
template <class T> void t(const T &x) { FASTSDT(p, a, x, [&] { return 1; }()); DTRACE_PROBE1(p, b, x); }
constexpr int c(int x) { FASTSDT(p, c, x); return x; }
void use() { fixed f; t(f); t(c(2)); }
END
have g++ && { g++ -std=c++20 $warnings -DFASTSDT_DISABLE -I"$INCLUDE" -c object.cc -o object.o || fail "objects"; }

printf '#include "fastsdt.h"\n#include <sys/sdt.h>\n#include "usdt.h"\nf: FASTSDT(p, n, %%eax)\nSTAP_PROBE1(p, m, $1)\nFASTSDT_WITH(nop, implicit, p, o)\nUSDT(p, q)\nret\n' > off.S
gcc -DFASTSDT_DISABLE -I"$INCLUDE" -c off.S -o off.o
no_notes off.o "assembly"
[ "$(objdump -d off.o | grep -c '^ ')" = 1 ] || fail "assembly: more than the ret"

# Other systems. Compiled to an object, because -S would not see what the assembler refuses.
clang=$(FASTSDT_COMPILERS='' have_of clang-19 clang-16 clang-14)
[ "$clang" != gcc ] || skip "no clang, for other systems"
clang=${clang##* } tried=
for triple in x86_64-apple-macos13 arm64-apple-macos13 arm64-apple-ios16 x86_64-pc-windows-gnu x86_64-pc-windows-msvc aarch64-pc-windows-msvc \
    wasm32-unknown-unknown wasm32-wasi bpfel amdgcn-amd-amdhsa x86_64-unknown-freebsd14 riscv32-unknown-elf; do
    $clang --target=$triple -c -xc - -o empty.o <<< 'int x;' 2> log || continue # an LLVM without this target
    for source in all.c all.cc; do
        options="-ffreestanding -nostdinc -Wno-stdlibcxx-not-found -Wall -Wextra -Werror"
        $clang --target=$triple $options -I"$INCLUDE" -O1 -c $source -o other.o || fail "$triple: $source"
        ! strings other.o | matches -x stapsdt || fail "$triple: a note"
    done
    tried="$tried $triple"
done
[ -n "$tried" ] || skip "$clang has no target but this one"
echo "tried:$tried"
