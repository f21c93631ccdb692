#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# No file leans on a precompiled header: packages are built without.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
includes=$FASTSDT_SOURCE/tests/scripts/includes.py
python3 "$includes" "$FASTSDT_SOURCE" >log || fail "$(cat log)"
# It can fail.
mkdir -p tree/lib && cp "$FASTSDT_SOURCE/CMakeLists.txt" tree/
echo 'std::array<int, 2> pair;' >tree/lib/a.cpp
printf '#include "b.h"\nstd::set<int> numbers; // std::map\n' >tree/lib/b.cpp
echo '#include <set>' >tree/lib/b.h
if python3 "$includes" tree >log; then fail "a file without <array> passes"; fi
expect "what is missing" "$(cat log)" "lib/a.cpp: uses what <array> declares, and does not include it"
