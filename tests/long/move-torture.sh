#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs programs that were built without fastsdt while fastsdt-trace counts at all of their functions and returns, and at those of
# the C library. They have to end as they do by themselves. Usage:
#
#   tests/long/move-torture.sh [-f FLAGS]... [-n N] [-p TESTS] [-b DIR]
#
#   -f FLAGS  of gcc, in one word; may be repeated (default: -O0, -O2, -O3 -static, -Os)
#   -n N      every Nth of GCC's torture programs only (default: 1, all). Fetched by tests/long/gcc-torture.sh
#   -p TESTS  and these of CPython's own tests, in one word (default: none): "test_json test_re"
#   -b DIR    the built programs (default: build/default/bin)
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
flags=() nth=1 python='' bin=$top/build/default/bin
while getopts f:n:p:b: option; do
    case $option in
        f) flags+=("$OPTARG") ;;
        n) nth=$OPTARG ;;
        p) python=$OPTARG ;;
        b) bin=$(realpath "$OPTARG") ;;
        *) sed -n '6,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
[ ${#flags[@]} -gt 0 ] || flags=(-O0 -O2 "-O3 -static" -Os)
programs=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/gcc-torture/execute
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

ran=0 wrong=0 sites=0 hits=0
# traced PROGRAM COMMAND...: leaves its status, and its output in the file out.
traced() {
    local program=$1 status=0
    shift
    timeout 600 "$bin/fastsdt-trace" --engine user --exit-status --no-follow \
        -e "uprobe:$program:*, uprobe:*/libc.so.6:* { @in = count(); } uretprobe:$program:*, uretprobe:*/libc.so.6:* { @out = count(); }" \
        -- "$@" >out 2>err || status=$?
    read -r armed counted < <(awk '/^sites [0-9]+ of/ { armed = $2 } /^@[a-z]*: / { counted += $2 } END { print armed + 0, counted + 0 }' out)
    sites=$((sites + armed)) hits=$((hits + counted))
    return $status
}
for program in $(find "$programs" -maxdepth 1 -name '*.c' | sort | awk -v n="$nth" 'NR % n == 0'); do
    for f in "${flags[@]}"; do
        gcc -w -std=gnu11 $f "$program" -o test -lm 2>/dev/null || continue
        status=0 with=0
        timeout 60 ./test >/dev/null 2>&1 </dev/null || status=$?
        [ $status = 0 ] || continue # not for this machine
        traced ./test ./test </dev/null || with=$?
        ran=$((ran + 1))
        [ $with = 0 ] || { wrong=$((wrong + 1)); echo "$(basename "$program") $f: status $with: $(tail -1 err)"; }
    done
done
for test in $python; do
    executable=$(readlink -f /usr/bin/python3) status=0 with=0
    timeout 600 "$executable" -m test "$test" >plain 2>&1 </dev/null || status=$?
    traced "$executable" "$executable" -m test "$test" </dev/null || with=$?
    ran=$((ran + 1))
    [ $with = $status ] || { wrong=$((wrong + 1)); echo "$test: status $status alone, $with traced"; tail -5 out err; }
done
echo "$ran runs, $sites sites armed, $hits hits: $wrong ended otherwise than by themselves"
[ $wrong = 0 ] && [ $ran -gt 0 ]
