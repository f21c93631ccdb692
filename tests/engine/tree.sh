#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A server of 100 processes is traced again and again while it works, by tracers of which a tenth are killed; then it is as it was (tree.c,
# tree.py). Meanwhile others start programs all the time, of which the kernel tells the tracer: it has to listen while it attaches.
# `tests/long/soak.sh --tree 1000` does it a thousand times.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/engine/tree.c" -o tree
while :; do /bin/true; done &
starting=$!
trap 'kill $starting' EXIT
"$FASTSDT_SOURCE/tests/engine/tree.py" "${FASTSDT_TREE:-6}" "${FASTSDT_TREE_SEED:-1}"
