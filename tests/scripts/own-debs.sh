#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/common/archive.sh, own_debs: two runs at a time have two folders for package files, one after the other the same.
. "$FASTSDT_SOURCE/tests/common.sh"
rm -rf cache
own() { bash -c '. "$FASTSDT_SOURCE/scripts/common/archive.sh"; own_debs cache bookworm; echo "${debs#cache/debs/}"; '"${1:-}"; }
export -f own
expect "alone" "$(own)" bookworm
expect "two at a time, then alone" "$(own own) $(own)" "bookworm
bookworm.2 bookworm"
expect "three, the first of them only by what it has started" "$(own '(own own) & debs=; wait')" "bookworm
bookworm.2
bookworm.3"
touch file
bash -c '. "$FASTSDT_SOURCE/scripts/common/archive.sh"; own_debs file bookworm || exit 3' 2>/dev/null && fail "a cache that cannot be written" ||
    expect status $? 3
