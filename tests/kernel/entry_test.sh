#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# entry.c on the running kernel, for 64-bit and 32-bit programs.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc
need_uprobes
. "$FASTSDT_SOURCE/tests/kernel/guest.sh"
case $(uname -m) in
x86_64) archs="amd64 i386" ;;
*) skip "the entries are those of x86-64; others run in the guests of run-matrix.sh" ;;
esac
for arch in $archs; do
    $(guest_compiler "$arch") -Wall -Wextra -Werror "$FASTSDT_SOURCE/tests/kernel/entry.c" -o "entry.$arch"
    "./entry.$arch" "$PWD/code.$arch" >"$arch.txt" || fail "$arch: $(grep FAIL "$arch.txt")"
    # Each entry ends with its calls; push has seven stacks more.
    expect "$arch: entries" "$(grep -c 'called: 1000 times, 1000 entries and 1000 returns' "$arch.txt")" \
        "$(grep -c '^ok [^,]*: signal 5' "$arch.txt")"
    bytes=8
    [ "$arch" != i386 ] || bytes=4
    read -r sp address < <(sed -n 's/^ok push %rbp, unmapped stack: signal 11 code 1, pc +0, sp \([0-9a-f]*\), address \([0-9a-f]*\)$/\1 \2/p' \
        "$arch.txt") ||
        fail "$arch: no fault on the unmapped stack"
    expect "$arch: a fault points to where the push writes" $((0x$sp - 0x$address)) $bytes
done
