#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Options of clang that put something of their own at a function's entry, or move code about late.
. "$FASTSDT_SOURCE/tests/fastprobe/llvm/llvm.sh"
mkdir -p bin
ln -sf "$bin/ld.lld" bin/ld.lld
lld=(-fuse-ld=lld "-B$PWD/bin")
with=(-w -O2 -fplugin="$plugin")
nop=(-fplugin-arg-fastprobe-entry=nop)
has() { grep -qE -- "$1" out || fail "$what: nothing matches '$1' in: $(cat out)"; }
look() { entries "$@" >out; }

cat >a.c <<'E'
#define NOINLINE __attribute__((noinline))
NOINLINE int leaf(int a) { return a * 3; }
NOINLINE int calls(int a) { int b = leaf(a); return leaf(b) + a; }
int (*volatile pointer)(int) = calls;
int main(int argc, char **argv) { return pointer(argc) != 10; }
E
# build WHAT FLAGS...: compile, run, list the entries
build() {
    what=$1
    shift
    clang "${with[@]}" "$@" a.c -o a || fail "$what: does not compile"
    ./a || fail "$what: exit code $?"
    look a
    no_strays a "$what"
}
supports() { clang -w "$@" a.c -o probe 2>/dev/null && ./probe; }

# KCFI: the type's number stands in the four bytes before the function, and calls compare it there.
if supports -fsanitize=kcfi; then
    build KCFI -fsanitize=kcfi "${nop[@]}"
    has '^calls: nop lead=0 .* added \| nop; push'
    build "KCFI and CET" -fsanitize=kcfi -fcf-protection=full -fplugin-arg-fastprobe-entry=nop10
    has '^calls: nop1\+nop10 lead=4 .* added \| endbr64; nop; cs nopw'
    objdump -d --no-show-raw-insn a | matches ud2 || fail "KCFI: no checks in the program"
fi

# CFI of indirect calls: the pointers go to a jump table, the functions are NAME.cfi or local.
cfi=(-flto -fvisibility=hidden -fsanitize=cfi-icall "${lld[@]}")
if supports "${cfi[@]}"; then
    build CFI "${cfi[@]}" "${nop[@]}" "-Wl,-mllvm,-load=$pass"
    has '^[^:]*calls[^:]*: nop lead=0 .* added \| nop; push'
fi

# UBSan's function types: before the entry since LLVM 17, at it in earlier ones.
cp a.c a.cpp
if supports -x c++ -fsanitize=function a.cpp -fno-sanitize-recover=all -lstdc++; then
    what="-fsanitize=function"
    clangxx "${with[@]}" -fsanitize=function -fno-sanitize-recover=all "${nop[@]}" a.cpp -o a || fail "$what"
    ./a || fail "$what: exit code $?"
    look a
    if [ "$version" -ge 17 ]; then has '^_Z5callsi: nop lead=0 .* added \| nop; push'; else has '^_Z5callsi: nop lead=[1-9][0-9]* .* added'; fi
    clangxx "${with[@]}" -fsanitize=function -fno-sanitize-recover=all -fplugin-arg-fastprobe-entry=nop10 a.cpp -o a
    ./a || fail "$what nop10: exit code $?"
    entries --check a >/dev/null || fail "$what nop10: a record is wrong"
fi

# Hot patching writes a jump over the first instruction: it keeps the entry, and nothing is recorded there.
if supports -fms-hotpatch; then
    build "hot patching" -fms-hotpatch -fplugin-arg-fastprobe-entry=nop10
    expect "entries beside -fms-hotpatch" "$(grep -v ': no record' out)" ""
    clang -w -O2 -fms-hotpatch a.c -o plain
    for file in a plain; do objdump -d --no-show-raw-insn --no-addresses "$file" | sed -n '/<calls>:/,/ret/p' >"$file.calls"; done
    expect "code beside -fms-hotpatch" "$(cat a.calls)" "$(cat plain.calls)"
    matches '<calls>:' <a.calls || fail "no function calls"
fi

# XRay: a sled begins with a jump over itself, which kernels emulate. Patched, the program still works.
if supports -fxray-instrument -fxray-instruction-threshold=1; then
    for mode in auto nop10; do
        build "XRay $mode" -fxray-instrument -fxray-instruction-threshold=1 -fplugin-arg-fastprobe-entry=$mode
        [ $mode = nop10 ] || has '^leaf: other lead=0 .*\| jmp'
        [ $mode = auto ] || has '^leaf: nop1\+nop10 lead=0 .* added \| nop; cs nopw .*; jmp'
        (cd "$(mktemp -d)" && XRAY_OPTIONS="patch_premain=true xray_mode=xray-basic verbosity=0" "$OLDPWD/a" 2>/dev/null) || fail "$what, patched"
    done
fi

# Late code motion: every block a section, cold blocks elsewhere, common tails outlined.
build "basic block sections" -fbasic-block-sections=all "${lld[@]}" "${nop[@]}"
has '^calls: nop lead=0 .* added'
build "external assembler" -fno-integrated-as "${nop[@]}"
has '^calls: nop lead=0 .* added'
what="through -S"
clang "${with[@]}" -fplugin-arg-fastprobe-entry=nop10 -S a.c -o a.s && clang a.s -o a && ./a || fail "$what"
look a
has '^leaf: nop1\+nop10 lead=0 .* bound=4 .* added \| nop; cs nopw'
build "-Oz with the outliner" -Oz -mllvm -enable-machine-outliner=always "${nop[@]}"
has '^leaf: nop lead=0 .* added'

# Exits: behind everything that hardening and instrumentation put at returns, and LLVM's verifier accepts them.
cat >exits.c <<'E'
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
volatile int sink;
NOINLINE void note(int a) { sink = a; }
NOINLINE void maybe(int a) { if (a > 3) note(a); }
NOINLINE int print(int a, int b) { if (a == 3) return b; return printf("%d\n", b); }
NOINLINE int labels(int a) { asm goto("test %0, %0; jne %l1" :: "r"(a) :: out); return 1; out: return 2; }
NOINLINE int choose(int a, int (*f)(int)) { switch (a) { case 0: return f(1); case 1: return 5; case 2: note(2); return f(9); default: return sink; } }
int main(int argc, char **argv) { maybe(argc); maybe(argc + 5); print(3, 4); print(argc, 5); return labels(argc) != 2 || choose(argc, labels) != 5; }
E
for flags in "-O2 -g" "-Os -g" "-O2 -mretpoline" "-O2 -mharden-sls=all" "-O2 -fsanitize=kcfi" "-O2 -fcf-protection=full" "-O2 -fsanitize=thread" \
    "-O1 -fstack-protector-all" "-O2 -fno-integrated-as" "-O2 -fsplit-machine-functions" "-Oz -mllvm -enable-machine-outliner=always" \
    "-O2 -mbranches-within-32B-boundaries" "-O2 -mlvi-cfi" "-O2 -fbasic-block-sections=all" "-O2 -fxray-instrument -fxray-instruction-threshold=1"; do
    clang -w $flags exits.c -o probe 2>/dev/null && ./probe >/dev/null || continue
    rm -f report
    clang "${with[@]}" $flags -fplugin-arg-fastprobe-exit=nop10 -fplugin-arg-fastprobe-report=report -mllvm -verify-machineinstrs exits.c -o a ||
        fail "exits, $flags"
    ./a >/dev/null || fail "exits, $flags: exit code $?"
    case $flags in
        *lvi*) matches '"exit_reason": "leaves by a jump that is no return"' <report || fail "exits, $flags: $(cat report)" ;;
        *xray*) matches '"exit_reason": "XRay aligns its sled' <report || fail "exits, $flags: $(cat report)" ;;
        *sections*) [ "$(entries a | grep -c '^maybe exit: ')" = 2 ] || fail "exits, $flags: $(entries a)" ;;
        *) entries --check-exits a >/dev/null || fail "exits, $flags" ;;
    esac
done

# Versions of one function for several CPUs are entries; what picks among them runs too early.
cat >clones.c <<'E'
__attribute__((target_clones("avx2", "default"), noinline)) int f(int a) { return a * 3; }
int main(int argc, char **argv) { return f(argc) != 3; }
E
if clang -w clones.c -o probe 2>/dev/null && ./probe; then
    what="target_clones"
    clang "${with[@]}" "${nop[@]}" clones.c -o a && ./a || fail "$what"
    look a
    has '^[^:]*f\.avx2[^:]*: nop .* added'
    has '^[^:]*f\.resolver[^:]*: no record'
fi

# One note section for a text section, no dynamic relocation more than without, and notes are not loaded.
what="no cost at run time"
clang "${with[@]}" "${nop[@]}" -fPIE -pie -c a.c -o a.o
expect "$what: note sections" "$(readelf -SW a.o | grep -c ' \.note\.fastsdt ')" 1
clang -w -O2 -fPIE -pie a.c -o without
clang "${with[@]}" "${nop[@]}" -fPIE -pie a.c -o a
expect "$what: relocations" "$(readelf -rW a | grep -c R_X86_64)" "$(readelf -rW without | grep -c R_X86_64)"
readelf -SW a | grep ' \.note\.fastsdt ' | matches -v ' A ' || fail "$what: the notes are loaded"

# Debuggers stop behind the prologue as before, and line tables begin at the function's address.
if have gdb; then
    what="line table"
    for mode in auto nop10; do
        clang "${with[@]}" -g -O0 -fplugin-arg-fastprobe-entry=$mode a.c -o a
        got=$(gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break leaf' -ex run -ex 'print a' -ex 'info line *leaf' ./a 2>&1)
        grep -q '^\$1 = 1$' <<<"$got" || fail "$what $mode: $got"
        grep -q 'Line 2 of "a.c" starts at address .* <leaf>' <<<"$got" || fail "$what $mode: $got"
    done
fi

# Precompiled headers made with the plugin, used with it.
echo 'static inline int in_header(int a) { return a * 7; }' >pre.h
clang "${with[@]}" -x c-header pre.h -o pre.pch
echo 'int main(int argc, char **argv) { return in_header(argc) != 7; }' >pch.c
clang "${with[@]}" -include-pch pre.pch pch.c -o a || fail "PCH"
./a || fail "PCH: exit code $?"

# arm64: branches with a short range are computed with the entry in place. tbz reaches 32 KiB.
if echo 'int main(void) { return 0; }' | clang --target=aarch64-linux-gnu -c -x c - -o probe.o 2>/dev/null; then
    for n in 8180 8184 8186 8187 8188 8189 8190 8191 8192; do
        python3 -c "print('void f(long a, volatile int *p) { if (a & 1) {' + '*p = 0;' * $n + '} *p = 1; }')" >far.c
        clang --target=aarch64-linux-gnu "${with[@]}" "${nop[@]}" -O1 -c far.c -o far.o || fail "arm64, $n stores behind a tbz"
    done
    clang --target=aarch64-linux-gnu "${with[@]}" -Oz -fplugin-arg-fastprobe-entry=nop -c a.c -o a.o || fail "arm64 -Oz"
    clang --target=aarch64-linux-gnu "${with[@]}" -ffixed-x18 -fsanitize=shadow-call-stack -mbranch-protection=standard \
        "${nop[@]}" -c a.c -o a.o || fail "arm64 shadow call stack"
    aarch64-linux-gnu-objdump -d --no-show-raw-insn a.o >dump
    grep -A4 '<calls>:' dump | tr -s '\t\n ' ' ' | matches 'bti c .* nop .* str x30, \[x18\], #8\|bti c .* nop .* paciasp' ||
        fail "arm64 shadow call stack: $(cat dump)"
fi
