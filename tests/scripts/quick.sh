#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/quick.py: what scripts/test.sh --quick chooses, and that its table names folders that there are.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3 ninja ctest
quick() { printf '%s\n' "$@" | "$FASTSDT_SOURCE/tests/quick.py" "$FASTSDT_BUILD"; }
log=$FASTSDT_BUILD/Testing/Temporary/LastTest.log
before=$(stat -c %i.%y "$log" 2>/dev/null || true)
quick lib/elf/lines.cpp >lib
for line in 'test lib.plan' 'test check.output' 'target fastsdt-check' 'target tests/lib/all'; do
    grep -qx "$line" lib || fail "a change in lib/elf does not give \"$line\""
done
if grep -E '^test (engine|header)|fastsdt-trace' lib; then fail "a change in lib/elf is no change of the above"; fi
expect "the longer folder counts" "$(quick lib/movable/survey.cpp | grep -c '^test linker')" 0
expect "a change of two" "$(quick lib/elf/lines.cpp uprobes/ask.cpp | grep -c '^test uprobes')" "$(quick uprobes/ask.cpp | grep -c '^test uprobes')"
expect "a test's own folder" "$(quick tests/header/odd.sh | sed -n 's/^test //p' | grep -vc '^header')" 0
expect "nothing" "$(quick LICENSE)" ""
expect "the log of the tests that run" "$(stat -c %i.%y "$log" 2>/dev/null || true)" "$before"
# Each row names what is there.
PYTHONPATH=$FASTSDT_SOURCE/tests python3 -B -c 'import quick
for folder, tests, _ in quick.AFFECTED:
    print(folder, *(f"tests/{name}" for name in tests.split()))' >rows
[ "$(wc -l <rows)" -gt 20 ] || fail "no table: $(cat rows)"
for name in $(cat rows); do [ -e "$FASTSDT_SOURCE/$name" ] || fail "tests/quick.py names $name"; done
