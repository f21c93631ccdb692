#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# No script has a pipeline whose reader leaves early: see matches in common.sh, and sed -n 1p for the first line.
. "$FASTSDT_SOURCE/tests/common.sh"
cd "$FASTSDT_SOURCE"

# The hazard is real: a writer of more than a pipe holds dies when its reader leaves; with ours it does not.
if seq 1000000 | grep -q 1; then fail "grep -q at the end of a pipeline is harmless here?"; fi
seq 1000000 | matches 1 || fail "matches lets its writer die"
if seq 1000000 | matches x; then fail "matches finds what is not there"; fi

early='(^|[^|])\| *(head|[ef]?grep +(-[a-zA-Z]+ +)*(-[a-zA-Z]*q[a-zA-Z]*|-m *[0-9])|sed +[0-9]+q|dd .*count=.*)( |$)'
found=$(find . -path ./build -prune -o -path ./.git -prune -o -name '*.sh' -print |
    xargs grep -l pipefail\\\|tests/common.sh | xargs grep -nE "$early" | grep -v '^\./tests/scripts/pipes.sh:' || true)
expect "readers that leave early, in scripts with pipefail" "$found" ""
