#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs what is missing, builds everything and runs the tests. The last line is ctest's own count.
# Further arguments go to ctest (for example -R header). Why checks were skipped is printed and stays in
# build/default/skips.txt, a line each: the test, the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
[ ! -t 1 ] || echo "Installing what is missing, as root"
./scripts/install-deps.sh
# Full debug information takes a fifth of the compilers' time.
cmake --preset default ${CI:+"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG"}
cmake --build --preset default
log=build/default/ctest.log
status=0
ctest --preset default -j "$(nproc)" "$@" 2>&1 | tee "$log" || status=$?
scripts/skips.sh build/default/Testing/Temporary/LastTest.log >build/default/skips.txt
if [ -s build/default/skips.txt ]; then
    printf '\nSkipped, and why:\n'
    sed 's/^/  /' build/default/skips.txt
    echo
fi
grep 'tests passed' "$log" || echo "ctest did not finish"
exit "$status"
