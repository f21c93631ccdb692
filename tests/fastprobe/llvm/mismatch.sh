#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A plugin in another LLVM than its own says which one is needed, and nothing gets compiled.
# Arguments: the versions that were built.
. "$FASTSDT_SOURCE/tests/common.sh"
[ $# -ge 2 ] || skip "needs two LLVMs"
echo 'int f(int a) { return a * 3; }' >f.c
echo 'define i32 @f() { ret i32 3 }' >f.ll
refused() { # HOST OWN COMMAND...
    local host=$1 own=$2
    shift 2
    rm -f out
    if "$@" -o out 2>err; then fail "$*: accepted"; fi
    [ ! -s out ] || fail "$*: wrote something"
    grep -q "is built for LLVM $own and cannot be loaded into LLVM $host: use the one in llvm-$host" err || fail "$*: $(cat err)"
    expect "$*: number of errors" "$(grep -c error: err)" 1
}
for host in "$@"; do
    for own in "$@"; do
        [ "$host" != "$own" ] || continue
        refused "$host" "$own" "clang-$host" -c f.c -fplugin="$FASTSDT_BUILD/llvm-$own/fastprobe.so"
        refused "$host" "$own" "clang-$host" -c f.c -fpass-plugin="$FASTSDT_BUILD/llvm-$own/fastprobe-pass.so"
        refused "$host" "$own" "opt-$host" f.ll -load-pass-plugin="$FASTSDT_BUILD/llvm-$own/fastprobe-pass.so" -passes=fastprobe
    done
done
