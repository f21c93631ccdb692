#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# C and C++ are formatted by .clang-format.
. "$FASTSDT_SOURCE/tests/common.sh"
need clang-format-19 git
git -C "$FASTSDT_SOURCE" rev-parse 2>/dev/null || skip "not a git checkout: which files are the project's is not known"
"$FASTSDT_SOURCE/scripts/format.sh" --check >log 2>&1 || fail "run scripts/format.sh: $(tail -n 5 log)"
# It can fail.
tree=$PWD/tree
rm -rf "$tree" && git init -q "$tree" && mkdir "$tree/scripts" && cp "$FASTSDT_SOURCE/scripts/format.sh" "$tree/scripts/"
cp "$FASTSDT_SOURCE/.clang-format" "$tree/"
echo 'int  f( void );' >"$tree/bad.c"
if "$tree/scripts/format.sh" --check >log 2>&1; then fail "format.sh --check accepts bad.c"; fi
matches 'bad.c' <log || fail "format.sh does not name the file: $(cat log)"
