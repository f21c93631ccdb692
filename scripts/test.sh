#!/bin/bash
# Installs what is missing, builds everything and runs the tests. The last line is ctest's own count.
# Further arguments go to ctest (for example -R header).
set -euo pipefail
cd "$(dirname "$0")/.."
./scripts/install-deps.sh
cmake --preset default
cmake --build --preset default
log=build/default/ctest.log
status=0
ctest --preset default -j "$(nproc)" "$@" 2>&1 | tee "$log" || status=$?
# Why each skipped check was skipped: the test's own last word.
if grep -q '(Skipped)$' "$log"; then
    echo
    echo "Skipped, and why:"
    grep -h '^SKIP: ' build/default/Testing/Temporary/LastTest.log | sort | uniq -c || true
fi
grep 'tests passed' "$log" || echo "ctest did not finish"
exit "$status"
