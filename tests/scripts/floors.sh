#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A floor of the house includes only floors below it (docs/architecture.md).
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
floors=$FASTSDT_SOURCE/tests/scripts/floors.py
python3 "$floors" "$FASTSDT_SOURCE" >log || fail "$(cat log)"
# It can fail: an arrow up within a house, and one between two.
for change in 'lib/base/printable.cpp report/plan.h' 'engine/script/parser.cpp code/stubs.h' 'lib/elf/image.cpp session.h'; do
    read -r file header <<<"$change"
    rm -rf tree && mkdir tree
    for house in lib engine uprobes linker include api tools docs; do cp -r "$FASTSDT_SOURCE/$house" tree/; done
    echo "#include \"$header\"" >>"tree/$file"
    if python3 "$floors" tree >log; then fail "$file may include $header"; fi
    matches "^$file:.*includes .*$header" <log || fail "not named: $(cat log)"
done
