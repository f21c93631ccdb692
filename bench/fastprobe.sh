#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What fastprobe does to real programs: share of entries by verdict, size of .text, run time, compile time.
# Usage:
#
#   bench/fastprobe.sh [-p sqlite|leveldb] [-m MODE]... [-n ROUNDS] [-c ROUNDS] [-i] [-o "FLAGS"] gcc|clang x86-64|arm64 PLUGIN CC CXX
#
# One line per mode, the first without the plugin. MODE is that of entry=; ENTRY+EXIT adds exits: none+nop10.
# Sources are Debian's, as in tests/long/fastprobe-real.sh. Sizes are of the whole .text. Times are user time, the smallest
# of ROUNDS (default 7; -c: compiling, 3), as ratios to the build without plugin; each round runs all builds in turn.
# sqlite runs speedtest1, leveldb its db_bench. ROUNDS 0 leaves the times out, as for arm64, whose programs would run
# in qemu.
#
# -i counts the instructions of a small run with valgrind, too short to time.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
build=$(realpath "${FASTSDT_BUILD:-$top/build/default}")
work=${FASTPROBE_BENCH_WORK:-$build/fastprobe-bench}
program=sqlite modes=() rounds=7 compile_rounds=3 flags=-O2 count=
while getopts p:m:n:c:io: option; do
    case $option in
        p) program=$OPTARG ;;
        m) modes+=("$OPTARG") ;;
        n) rounds=$OPTARG ;;
        c) compile_rounds=$OPTARG ;;
        i) count=1 ;;
        o) flags=$OPTARG ;;
        *) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 5 ] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
kind=$1 target=$2 plugin=$(realpath "$3") cc=$4 cxx=$5
: "$kind"
[ ${#modes[@]} -gt 0 ] || modes=(auto auto-frame frame nop nop10 none)
kernels=6.1,6.12,6.18,7.2
[ "$target" = x86-64 ] || { kernels=6.1,6.12,6.13,7.2; rounds=0 compile_rounds=1 count=; }
package=${program/sqlite/sqlite3}
"$top/scripts/common/upstream-source.sh" "$package" "$work/sources"
s=$work/sources/$package

defines=(-std=c++17 -fno-rtti -DLEVELDB_PLATFORM_POSIX=1 -DHAVE_FDATASYNC=1 -DHAVE_O_CLOEXEC=1 -DHAVE_FULLFSYNC=0 -DHAVE_CRC32C=0 -DHAVE_SNAPPY=0
    -I"$s" -I"$s/include")

# compile DIR FLAGS...: leaves DIR/program and the user time that the compiler took in DIR/compile.
TIMEFORMAT=%U
compile() {
    local dir=$1
    shift
    mkdir -p "$dir"
    (
        cd "$dir"
        rm -f report.json
        case $program in
            sqlite)
                { time $cc $flags -w -c "$@" -I"$s/bld" "$s/bld/sqlite3.c" -DSQLITE_THREADSAFE=0; } 2>compile.now
                $cc $flags -w -I"$s/bld" "$s/test/speedtest1.c" sqlite3.o -o program -lm -ldl
                ;;
            leveldb)
                { time find "$s"/{db,table,util,helpers/memenv} -name '*.cc' ! -name '*_test.cc' ! -name '*windows*' ! -name leveldbutil.cc |
                    sort | xargs -P 4 -n 1 $cxx "${defines[@]}" $flags -w -c "$@"; } 2>compile.now
                [ -e ../db_bench.o ] || $cxx "${defines[@]}" $flags -w -c "$s/benchmarks/db_bench.cc" -o ../db_bench.o
                $cxx ./*.o ../db_bench.o -o program -pthread
                ;;
        esac
        tail -1 compile.now >>compile
    )
}
run() {
    (
        cd "$1"
        case $program in
            sqlite) { time ./program --size 100 :memory: >/dev/null; } 2>>run ;;
            leveldb) { time ./program --num=100000 --benchmarks=fillrandom,readrandom,readseq,seekrandom --db="$PWD/db" >/dev/null 2>&1; } 2>>run ;;
        esac
    )
}
# count_instructions DIR: into DIR/instructions.
count_instructions() {
    (
        cd "$1"
        local command=(./program --size 1 :memory:)
        [ "$program" = sqlite ] || command=(./program --num=2000 --benchmarks=fillrandom,readrandom,readseq,seekrandom --db="$PWD/db")
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "${command[@]}" 2>&1 >/dev/null |
            sed -n 's/.*Collected : \([0-9]*\).*/\1/p' >instructions
    )
}

dir=$work/$program-$target-$$
mkdir -p "$dir"
trap 'rm -rf "$dir"' EXIT
for mode in without "${modes[@]}"; do
    with=()
    [ "$mode" = without ] || with=("-fplugin=$plugin" "-fplugin-arg-fastprobe-entry=${mode%+*}" "-fplugin-arg-fastprobe-report=report.json")
    [[ $mode != *+* ]] || with+=("-fplugin-arg-fastprobe-exit=${mode#*+}")
    compile "$dir/$mode" "${with[@]}"
done
for ((i = 1; i < compile_rounds; i++)); do
    compile "$dir/without"
    for mode in "${modes[@]}"; do
        [ "$mode" != auto ] || compile "$dir/$mode" "-fplugin=$plugin" "-fplugin-arg-fastprobe-report=report.json"
    done
done
for ((i = 0; i < rounds; i++)); do
    for mode in without "${modes[@]}"; do run "$dir/$mode"; done
done
for mode in without "${modes[@]}"; do
    [ -z "$count" ] || count_instructions "$dir/$mode"
    "$build/bin/fastsdt-check" --functions --json --no-lines --kernel $kernels "$dir/$mode/program" >"$dir/$mode/check.json"
done
python3 - "$dir" "$kernels" without "${modes[@]}" <<'P'
import json, os, re, subprocess, sys
root, kernels, modes = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]

def least(mode, name):
    path = f"{root}/{mode}/{name}"
    return min(map(float, open(path).read().split())) if os.path.exists(path) else None

def text(mode):
    out = subprocess.run(["readelf", "-SW", f"{root}/{mode}/program"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r" \.text\s+PROGBITS\s+\S+ \S+ (\S+)", out)[1], 16)

def functions(mode):
    all_functions = json.load(open(f"{root}/{mode}/check.json"))["files"][0]["functions"]
    return [f for f in all_functions if ".cold" not in f["name"]]

# The functions that the plugin saw, also in the build without it. Names that stand for two functions are left out: one
# of them may be in the benchmark's own code, which is compiled without the plugin.
selected = [f["name"] for f in functions(modes[1]) if f["selected"]]
twice = {n for n in selected if sum(f["name"] == n for f in functions(modes[1])) > 1}
seen = set(selected) - twice

def ratio(mode, name):
    mine, base = least(mode, name), least("without", name)
    count = len(open(f"{root}/{mode}/{name}").read().split()) if mine else 0
    return "-" if not mine or not base or (name == "compile" and count < 2) else f"{mine / base:.4f}"

print("mode       entries  missed  " + "  ".join(f"cheap on {k:>5}" for k in kernels) + "  optimized 7.2      .text            run    compile  instructions")
for mode in modes:
    mine = [f for f in functions(mode) if f["name"] in seen]
    cheap = [sum(f["kernels"][k]["verdict"] not in ("xol", "reject") for f in mine) for k in kernels]
    best = sum("optimize" == f["kernels"][kernels[-1]].get("best", f["kernels"][kernels[-1]].get("patch_verdict", "")) or
               (f.get("layout") == "nop1+nop10" and f["selected"]) for f in mine)
    missed = 0
    report = f"{root}/{mode}/report.json"
    if os.path.exists(report):
        missed = sum(json.loads(line)["action"] == "missed" for line in open(report))
    growth = text(mode) / text("without") - 1
    print(f"{mode:<10} {len(mine):>7}  {missed:>6}  " + "  ".join(f"{100 * c / len(mine):>12.2f} %" for c in cheap) +
          f"  {100 * best / len(mine):>11.1f} %  {text(mode):>8} {100 * growth:>+6.2f} %  {ratio(mode, 'run'):>7}  {ratio(mode, 'compile'):>7}  {ratio(mode, 'instructions'):>12}")
P
