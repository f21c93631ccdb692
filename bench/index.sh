#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Size and lookup time of an index with N function entries (default 100,000).
# Usage: bench/index.sh [N [OPTION OF BENCHMARK...]], after building; FASTSDT_BUILD names the build directory (default build/default).
set -euo pipefail
cd "$(dirname "$0")/.."
n=${1:-100000}
shift $(($# > 0))
bin=$(realpath "${FASTSDT_BUILD:-build/default}")/bin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
# Functions of 16 to 79 bytes in one section, as in a program: push-first, 4 of 10 after endbr64, a few stack sizes.
awk -v n="$n" 'BEGIN {
    srand(1); print ".text\n.globl _start\n_start:"
    for (i = 0; i < n; ++i) {
        lead = rand() < 0.4 ? 4 : 0
        printf ".p2align 4\n.Lf%d: %s push %%rbp\n.skip %d, 0xcc\n", i, lead ? "endbr64;" : "", 8 + int(rand() * 48)
        printf ".pushsection .note.fastsdt,\"\",\"note\"\n.4byte 8,24,0x45\n.asciz \"fastsdt\"\n.byte 1,16,0,0,0,%d\n.2byte 0\n.8byte .Lf%d,%d\n.popsection\n", lead, i, rand() < 0.9 ? 0 : 8 * int(1 + rand() * 6)
    }
}' > many.s
gcc -c many.s
ld many.o -o plain
echo "$n entries, $(ld --version | sed -n 1p)"
echo "file before: $(stat -c %s plain) bytes"
time -p "$bin/fastsdt-index" plain -o indexed
echo "file after:  $(stat -c %s indexed) bytes"
for f in plain indexed; do
    objcopy -O binary --only-section=.note.fastsdt --set-section-flags .note.fastsdt=alloc $f $f.note
done
"$bin/bench_index" plain.note indexed.note "$@"
