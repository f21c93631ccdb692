#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# report.sh LOG [CTEST-OUTPUT]: which checks of a test run were skipped, and why, from ctest's LastTest.log; a line each: TEST: REASON.
# A shell test prints "SKIP: REASON"; GoogleTest prints "FILE:LINE: Skipped" and the reason on the next line. What CTEST-OUTPUT, the text that
# ctest printed, calls skipped is listed even if LOG does not have it.
set -euo pipefail
reasons=$(awk '
    /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
    reason { print name ": " ($0 == "" ? "no reason given" : $0); reason = 0; next }
    /^SKIP: / { print name ": " substr($0, 7) }
    /^[^ ]+:[0-9]+: Skipped$/ { reason = 1 }' "$1" | sort -u)
[ -z "$reasons" ] || printf '%s\n' "$reasons"
[ $# = 1 ] || sed -nE 's/^[[:space:]]*[0-9]+ - ([^ ]+) \(Skipped\)$/\1/p' "$2" | while read -r name; do
    grep -qF "$name: " <<<"$reasons" || echo "$name: no reason given"
done
