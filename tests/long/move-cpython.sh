#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython's own tests on the installed python3, by themselves and with all functions and returns of python3 and the C library armed by
# fastsdt-trace, in all processes that the tests start: both have to have the same results. Usage:
#
#   tests/long/move-cpython.sh [-n N] [-o K] [-b DIR] [TEST...]
#
#   -n N    every Nth of the tests only (default: 1, all), from the Kth on (-o, default N)
#   -b DIR  the built programs (default: build/default/bin)
#
# Without TEST: all but those that start a debugger or a display, wait for times or addresses of their own, or fail beside others.
# Needs the package libpython3-testsuite.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
nth=1 first='' bin=$top/build/default/bin
while getopts b:n:o: option; do
    case $option in
        b) bin=$(realpath "$OPTARG") ;;
        n) nth=$OPTARG ;;
        o) first=$OPTARG ;;
        *) sed -n '6,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
python=/usr/bin/python3 program=$(readlink -f /usr/bin/python3)
fail() { echo "move-cpython.sh: $*" >&2; exit 1; }
$python -c 'import test.test_json' 2>/dev/null || fail "CPython's tests are not installed (libpython3-testsuite)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
tests=("$@")
apart='test_(gdb|concurrent_futures|multiprocessing.*|asyncio|tools|idle|tkinter|ttk.*|peg_generator|distutils|venv|ensurepip|regrtest|faulthandler|io|subprocess|socket|ssl|embed|capi)'
[ $# -gt 0 ] || mapfile -t tests < <($python -m test --list-tests | grep -vxE "$apart" | awk -v n="$nth" -v k="${first:-$nth}" 'NR % n == k % n')
# tested FILE COMMAND...: the tests' results, a line each
tested() {
    local file=$1 status=0 started=$SECONDS
    shift
    "$@" -m test "-j$(nproc)" --timeout 300 "${tests[@]}" >"$file.log" 2>"$file.err" </dev/null || status=$?
    grep -E '^[0-9:.]+ load avg.* test_' "$file.log" | sed -E 's/^.*\] //; s/ \([0-9.]+ [^)]*\)//g; s/ -- running:.*//' | sort -u >"$file"
    echo "$(wc -l <"$file") tests, status $status, in $((SECONDS - started)) s"
}
echo "by themselves: $(tested plain $python)"
places() { echo "$1:$program:*, $1:*/libc.so.6:*"; }
echo "traced: $(tested traced "$bin/fastsdt-trace" --engine user --exit-status -e "$(places uprobe) { @in = count(); } $(places uretprobe) { @out = count(); }" -- $python)"
grep -aE '^(@in|@out|sites)' traced.log | sed 's/^/  /'
diff plain traced || fail "the results differ"
[ -s plain ] || fail "no test ran"
echo "the same results"
