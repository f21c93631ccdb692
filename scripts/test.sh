#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs what is missing, builds everything and runs the tests. The last line is ctest's own count.
#
#   test.sh [--all] [ARGUMENT...]   ARGUMENTs are ctest's, for example -R header. --all: also the tests that repeat others with older
#                                   compilers, with more kernels, or with more of what is random: hours
#   test.sh --quick [BASE]          only the tests of the folders with changes since the commit BASE, and builds no more than these need
#                                   (tests/quick.py). BASE is where this branch left main, or on main the last commit
#
# The longest tests are listed at the end, and why checks were skipped; that stays in build/default/skips.txt, a line each: the test, the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common/versions.sh
all=OFF quick='' selected=() targets=()
case ${1:-} in
-h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
--all) all=ON && shift ;;
--quick)
    [ $# -le 2 ] || { sed -n '5,9s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
    quick=${2:-$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)}
    git rev-parse --verify --quiet "$quick^{commit}" >/dev/null || { echo "test.sh: there is no commit $quick" >&2 && exit 2; }
    set --
    ;;
esac
[ ! -t 1 ] || echo "Installing what is missing, as root"
./scripts/install-deps.sh
cmake --preset "$(preset)" -DFASTSDT_ALL_TESTS=$all
if [ -n "$quick" ]; then
    { git diff --name-only "$quick" && git ls-files --others --exclude-standard; } | tests/quick.py build/default >build/default/quick
    mapfile -t targets < <(sed -n 's/^target //p' build/default/quick)
    mapfile -t selected < <(sed -n 's/^test //p' build/default/quick)
    [ ${#selected[@]} -gt 0 ] || { echo "No test belongs to what has changed since $quick" && exit; }
    set -- -R "^($(IFS='|' && echo "${selected[*]//./\\.}"))\$"
fi
cmake --build --preset default ${targets:+--target "${targets[@]}"}
log=build/default/ctest.log # one test more than there are processors: many wait for processes, guests and disks
status=0
ctest --preset default -j $(($(nproc) + 1)) "$@" 2>&1 | tee "$log" || status=$?
printf '\nThe longest tests, in seconds:\n'
sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*/\2 \1/p' "$log" | sort -rn | sed -n 1,20p | xargs printf '  %8s  %s\n'
tests/scripts/report.sh build/default/Testing/Temporary/LastTest.log "$log" >build/default/skips.txt
if [ -s build/default/skips.txt ]; then
    printf '\nSkipped, and why:\n'
    sed 's/^/  /' build/default/skips.txt
fi
echo
grep 'tests passed' "$log" || echo "ctest did not finish"
exit "$status"
