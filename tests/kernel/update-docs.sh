#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Writes the tables of docs/kernels.md anew from the recorded answers, and the pictures. With --check it only says whether they are current.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
oracle=${FASTSDT_BUILD:-$source/build/default}/bin/kernel-oracle
page=$source/docs/kernels.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT
sed '/<!-- tables -->/q' "$page" >"$new"
"$oracle" table "$here"/results/*.json >>"$new"
if [ "${1-}" = --check ]; then
    cmp -s "$new" "$page" && exit 0
    echo "docs/kernels.md is not what the recorded answers say: run tests/kernel/update-docs.sh" >&2
    diff "$page" "$new" >&2 || true
    exit 1
fi
cat "$new" >"$page"
# Its grid is one of the pictures.
"$source/scripts/bench.sh" --redraw
