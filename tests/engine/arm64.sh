#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Executes stubs for arm64, on another machine under qemu-user: on processors with and without the atomic instructions of Armv8.1, and for
# the test of signals also with an interrupt possible at each instruction. Then looks at the code by objdump. Executes instructions of
# installed libraries, moved. The two that take long are done by one of the processors, by both with test.sh --all.
. "$FASTSDT_SOURCE/tests/common.sh"
test=$FASTSDT_BUILD/bin/engine_stubs_arm64
[ -x "$test" ] || skip "this build has no stubs for arm64 (libvixl-dev)"
prefix='' old='' new='' fixed='' each=''
if [ "$(uname -m)" != aarch64 ]; then
    prefix=aarch64-linux-gnu-
    old='qemu-aarch64 -cpu cortex-a53 ' new='qemu-aarch64 -cpu max ' fixed='qemu-aarch64 -cpu max,sve=off ' each=-singlestep
    need qemu-aarch64
    # The option's name since QEMU 8.1.
    if qemu-aarch64 -help | matches -F one-insn-per-tb; then each=-one-insn-per-tb; fi
fi
need "${prefix}gcc" "${prefix}objdump"
"${prefix}gcc" -static -O2 -Wall -Wextra -Werror -pthread "$FASTSDT_SOURCE/tests/engine/runner_arm64.c" -o runner

rm -rf code
mkdir code
for processor in "$old" "$new"; do
    filter='*' # what only computes does so on both alike
    [ "$processor" = "$new" ] || whole || filter='-MeaningArm64.*:ExpressionArm64.*:OperandArm64.EveryRegisterInEverySize'
    FASTSDT_RUNNER="$processor$PWD/runner" FASTSDT_CODE=$PWD/code "$test" --gtest_filter="$filter" >out 2>&1 ||
        fail "'$processor': $(grep -vE '^\[ *(OK|RUN|-+) *\]' out)"
    [ -n "$prefix" ] || break
    [ "$processor" = "$old" ] || whole || continue # its loops can be interrupted
    FASTSDT_RUNNER="${processor/ / $each }$PWD/runner" FASTSDT_PASSES=3000 "$test" --gtest_filter='*SignalHandlers*' >out 2>&1 ||
        fail "'$processor' $each: $(grep -vE '^\[ *(OK|RUN|-+) *\]' out)"
done

# SVE's registers would have to be in the signal frames by which the runner sets all others.
"${prefix}gcc" -static -O2 -Wall -Wextra -Werror "$FASTSDT_SOURCE/tests/engine/moved_runner_arm64.c" -o mover
libraries=()
for name in libc.so.6 libstdc++.so.6; do
    file=$("${prefix}gcc" -print-file-name=$name)
    [ ! -f "$file" ] || libraries+=("$file")
done
both=("$fixed" "$old")
whole || both=("$fixed")
for processor in "${both[@]}"; do
    FASTSDT_RUNNER="$processor$PWD/mover" FASTSDT_FILES="${libraries[*]}" "$FASTSDT_BUILD/bin/engine_moved_arm64" >out 2>&1 ||
        fail "'$processor', moved: $(grep -vE '^\[ *(OK|RUN|-+) *\]' out)"
    grep ' runs, ' out
    [ -n "$prefix" ] || break
done

for file in code/*; do
    "${prefix}objdump" -D -b binary -m aarch64 "$file" >"$file.s"
    if grep -nE 'undefined|\.inst|\.word|udf' "$file.s"; then fail "$file has what is no instruction"; fi
    # Nothing is stored below sp, since sp goes down first; and no instruction changes a flag or a vector register.
    if grep -E '	(str|stp)	.*\[sp, #-|	(adds|subs|ands)	| [vdsqbh][0-9]+,' "$file.s" | grep -v 'str	x30, \[sp, #-16\]!'; then fail "$file"; fi
done
if grep -lE '	(st|ld)l?a?xr' code/lse*.s; then fail "loops where there are instructions"; fi
grep -qE '	stadd	' code/lse0.s || fail "no stadd: $(cat code/lse0.s)"
grep -qE '	stxr	' code/llsc0.s || fail "no stxr: $(cat code/llsc0.s)"
