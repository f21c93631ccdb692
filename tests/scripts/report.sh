#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# skips.sh LOG: which checks of a test run were skipped, and why, from ctest's LastTest.log; a line each: TEST: REASON.
# A shell test prints "SKIP: REASON"; GoogleTest prints "FILE:LINE: Skipped" and the reason on the next line.
set -euo pipefail
awk '
    /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
    reason { print name ": " ($0 == "" ? "no reason given" : $0); reason = 0; next }
    /^SKIP: / { print name ": " substr($0, 7) }
    /^[^ ]+:[0-9]+: Skipped$/ { reason = 1 }' "$1" | sort -u
