#!/bin/bash
# Functions with a place that the program itself patches while it runs (XRay's sleds, -fpatchable-function-entry) are not armed: it would write
# over the jump. Others of the program are.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
cat >main.c <<'END_OF_C'
#include <stdio.h>
#ifdef __clang__
#define PATCHED __attribute__((noinline, xray_always_instrument))
#define PLAIN __attribute__((noinline, xray_never_instrument))
#else
#define PATCHED __attribute__((noinline, patchable_function_entry(9, 0)))
#define PLAIN __attribute__((noinline))
#endif
PATCHED long leaf(long n) { __asm__ volatile("" : "+r"(n)); return n * 31 + 7; }
PLAIN long plain(long n) { __asm__ volatile("" : "+r"(n)); return n * 33 + 5; }
PLAIN int main(void)
{
    long n = 0;
    for (int i = 0; i < 1000; ++i)
        n = plain(leaf(n));
    printf("%ld\n", n);
    return 0;
}
END_OF_C
reason='a place that the program patches itself (XRay, -fpatchable-function-entry)'
# check PROGRAM: what is said of both functions, and what a run counts.
check() {
    ./"$1" >expected
    fastsdt-check --armable "$1" | matches -E "^  0x[0-9a-f]+  leaf  has ${reason//[()]/.}; exits 0 of 1$" ||
        fail "$1: $(fastsdt-check --armable "$1")"
    fastsdt-check --armable "$1" | matches -E '^  0x[0-9a-f]+  plain  [0-9]+ bytes; exits 1 of 1$' || fail "$1: $(fastsdt-check --armable "$1")"
    status=0
    fastsdt-trace --engine user -e "uprobe:./$1:leaf, uprobe:./$1:plain { @[func] = count(); }" -- ./"$1" >out 2>err || status=$?
    grep -qxF "$(cat expected)" out || fail "$1: the program's result: $(cat out)"
    grep -qE '^@\[plain\]: 1000$' out || fail "$1: plain() is not counted: $(cat out err)"
    expect "$1: sites" "$(grep -oE '^sites [0-9]+ of [0-9]+ armed' out)" "sites 1 of 2 armed"
    expect "$1: status" "$status" 1
    grep -qF "$reason" out || fail "$1: no reason: $(cat out err)"
}
for flags in -no-pie "-fPIE -pie"; do
    gcc -O2 $flags main.c -o "patchable${flags##* }"
    readelf -SW "patchable${flags##* }" | matches -F __patchable_function_entries || skip "this gcc has no -fpatchable-function-entry"
    check "patchable${flags##* }"
done
clang=$(compgen -c clang- | grep -xE 'clang-[0-9]+' | sort -t- -k2 -n | tail -n 1 || true)
[ -n "$clang" ] && "$clang" -O2 -fxray-instrument main.c -o sleds 2>log || { echo "without XRay: no clang with its library"; exit 0; }
readelf -SW sleds | matches -F xray_instr_map || fail "$clang put no sleds"
export XRAY_OPTIONS="patch_premain=true xray_mode=xray-basic xray_logfile_base=$PWD/log."
check sleds
