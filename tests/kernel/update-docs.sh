#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Writes the tables of docs/kernels.md and the lists of docs/recorded/kernels.md anew from the recorded answers, and the pictures. With --check it
# only says whether they are current.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
oracle=${FASTSDT_BUILD:-$source/build/default}/bin/kernel-oracle
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
"$oracle" table "$here"/results/*.json >"$new/all"
# What the oracle prints behind "Kernels asked:" is the record, and so are the tables of architectures other than x86 and arm64.
page='^### (x86_64|i386|arm64)$'
sed '/<!-- tables -->/q' "$source/docs/kernels.md" >"$new/kernels.md"
awk -v page="$page" '/^### / { on = $0 ~ page } /^Kernels asked:/ { on = 0 } on' "$new/all" | sed '1s/^/\n/; ${/^$/d}' >>"$new/kernels.md"
sed '/<!-- lists -->/q' "$source/docs/recorded/kernels.md" >"$new/recorded.md"
awk -v page="$page" '/^### / { table = $0 !~ page; print "\n" $0 "\n" }
    /^Kernels asked:/ { if (table) print ""; table = 0 } /^- / || table && /^[|]/' "$new/all" >>"$new/recorded.md"
current() { # current NEW PAGE
    cmp -s "$new/$1" "$source/$2" || {
        echo "$2 is not what the recorded answers say: run tests/kernel/update-docs.sh" >&2
        diff "$source/$2" "$new/$1" >&2
        return 1
    }
}
if [ "${1-}" = --check ]; then
    newest=$(sed -nE 's/.*newest_known\{Vendor::upstream, ([0-9]+), ([0-9]+)\}.*/\1.\2/p' "$source/lib/kernel/features.h")
    for arch in amd64 arm64; do
        [ -s "$here/results/$arch-$newest.json" ] ||
            { echo "$newest is the newest kernel that was measured (features.h), and tests/kernel/results has no $arch-$newest.json" >&2; exit 1; }
    done
    current kernels.md docs/kernels.md && current recorded.md docs/recorded/kernels.md
    exit
fi
cat "$new/kernels.md" >"$source/docs/kernels.md"
cat "$new/recorded.md" >"$source/docs/recorded/kernels.md"
# The grid of kernels.md is one of the pictures.
"$source/scripts/bench.sh" --redraw
