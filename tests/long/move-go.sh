#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests of Go's standard library, of the installed Go: by themselves, with all functions and returns armed by fastsdt-trace from their start, and
# attached to again and again while they run, by tracers of which some are killed. All have to have the same results. Usage:
#
#   tests/long/move-go.sh [-b DIR] [-r RUNS] [PACKAGE...]
#
#   -b DIR   the built programs (default: build/default/bin)
#   -r RUNS  each test so many times (default: 1)
#
# Without PACKAGE: those below. A test that fails by itself, or not always ends the same, says nothing and is left out.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
bin=$top/build/default/bin runs=1
while getopts b:r: option; do
    case $option in
        b) bin=$(realpath "$OPTARG") ;;
        r) runs=$OPTARG ;;
        *) sed -n '6,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
packages=(strings strconv sort bytes fmt sync sync/atomic time context encoding/json encoding/gob math/big regexp reflect text/template container/heap
    bufio io os os/signal database/sql runtime/pprof net/http compress/gzip go/types crypto/tls runtime)
[ $# = 0 ] || packages=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$bin:$PATH GOFLAGS=-mod=mod GOCACHE=$work/cache
root=$(go env GOROOT)

# results FILE STATUS: each test's result, a line each. Subtests whose names have numbers of the moment are left out.
results() {
    grep -aE '^ *--- (PASS|FAIL|SKIP): ' "$1" | sed -E 's/ \([0-9.]+s\)$//; s/^ *--- //' | grep -aE '^[A-Z]+: [A-Za-z0-9_]+$' | sort -u
    echo "status $2"
}
# plain, started, attached FILE TEST ARGUMENTS...: runs it, in its package's folder; leaves its results in FILE
plain() {
    local file=$1 status=0
    shift
    timeout 900 "$@" >"$file.log" 2>&1 </dev/null || status=$?
    results "$file.log" $status >"$file"
}
places() { printf 'uprobe:%s:* { @in = count(); } uretprobe:%s:* { @out = count(); }' "$1" "$1"; }
started() {
    local file=$1 status=0
    shift
    timeout 1800 fastsdt-trace --engine user --exit-status -o "$file.maps" -e "$(places "$1")" -- "$@" >"$file.log" 2>&1 </dev/null || status=$?
    results "$file.log" $status >"$file"
    rounds="$(sed -n 's/^sites \([0-9]* of [0-9]*\) armed.*/\1 sites/p' "$file.maps")"
}
attached() {
    local file=$1 test pid tracer status=0 count=0
    shift
    test=$1
    timeout 1800 "$@" >"$file.log" 2>&1 </dev/null &
    local child=$!
    while kill -0 $child 2>/dev/null; do
        pid=$(pgrep -o -P $child -f "^$test") || continue
        if [ $((count % 3)) = 2 ]; then
            fastsdt-trace --engine user -p "$pid" -e "$(places "$test")" >/dev/null 2>&1 &
            tracer=$!
            read -r -t 0.$((RANDOM % 5)) <> <(:) || true
            kill -KILL $tracer 2>/dev/null || true
            wait $tracer 2>/dev/null || true
        else
            fastsdt-trace --engine user -p "$pid" --duration 0.$((RANDOM % 4 + 1)) -e "$(places "$test")" >"$file.maps" 2>&1 || true
        fi
        count=$((count + 1))
    done
    wait $child || status=$?
    results "$file.log" $status >"$file"
    rounds="$count times"
}

differ=0 same=0
for package in "${packages[@]}"; do
    test=$work/${package//\//-}.test
    go test -c -o "$test" "$package" || { echo "$package: cannot be built" >&2; differ=1; continue; }
    cd "$root/src/$package"
    arguments=(-test.short -test.v -test.count="$runs" -test.timeout=20m)
    [ "$package" != runtime ] || arguments+=(-test.skip 'Gdb|Lldb|CgoCrash|Signal.*Exit|TestPanicSystemstack')
    begun=$SECONDS
    plain "$work/first" "$test" "${arguments[@]}"
    took=$((SECONDS - begun))
    plain "$work/second" "$test" "${arguments[@]}"
    comm -12 "$work/first" "$work/second" >"$work/always" # what says something
    for way in started attached; do
        rounds=
        # One that is over at once is run more often where tracers come and go.
        [ $way = started ] || [ $took -ge 3 ] || arguments+=(-test.count=$((20 * runs)))
        $way "$work/$way" "$test" "${arguments[@]}"
        if comm -23 "$work/always" "$work/$way" >"$work/difference" && [ ! -s "$work/difference" ]; then
            same=$((same + 1))
            echo "$package, $way: the same $(wc -l <"$work/always") results, $rounds"
        else
            differ=$((differ + 1))
            echo "$package, $way: differs, $rounds"
            sed 's/^/  /' "$work/difference"
            cp "$work/$way.log" "$top/build/move-go-${package//\//-}-$way.log" 2>/dev/null || true
        fi
    done
    rm -f "$test"
done
[ $differ = 0 ] || { echo "$differ differ, $same are the same" && exit 1; }
echo "$same runs: all have the same results"
