#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What begins with #! is run by its name, so it has its run bit. Which scripts there are.
. "$FASTSDT_SOURCE/tests/common.sh"
cd "$FASTSDT_SOURCE"
scripts=$(find . \( -path ./build -o -path ./.git \) -prune -o -type f -exec awk 'FNR == 1 && /^#!/ {print FILENAME} {nextfile}' {} + | sort)
grep -qx ./scripts/demo.sh <<<"$scripts" || fail "the search does not find scripts/demo.sh"
without=$(for file in $scripts; do [ -x "$file" ] || echo "$file"; done)
# What is in scripts/ is for people; the rest is where it is used.
expect "scripts" "$(cd scripts && echo *)" "bench.sh common demo.sh format.sh install-deps.sh package.sh release.sh site.sh test.sh"
expect "scripts without their run bit (git update-index --chmod=+x)" "$without" ""
