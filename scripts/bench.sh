#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Measures what fastsdt costs and gains, and writes build/bench/results.json, performance.md and recorded/*.svg (with --quick in
# build/bench/quick): `bench.sh [--quick] [--only PART,...]`. Parts: hits, trace, kernel, events, stops, programs, disabled, runtimes, attach,
# build, tools, fleet; --only measures these anew and keeps the others that results.json has of this machine. All takes an hour and a half on an
# idle machine with two processors, --quick less than five minutes (and what building takes). As root on a kernel with uprobes; without that the
# parts that attach probes are left out, and it says so. Installs the packages it needs. `bench.sh --record` makes docs/performance.md and
# docs/recorded/performance.md from build/bench/results.json (kept as docs/recorded/performance.json), the pictures, overview.md's figures and a
# picture of the demo; `bench.sh --redraw` makes them anew from performance.json.
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '3,/^[^#]/s/^# //p' "$0"; }
out=$PWD/build/bench
case " $* " in *" --quick "*) results=$out/quick ;; *) results=$out ;; esac # a quick look costs nobody a long run's figures
python=python3
case ${1:-} in -h | --help) usage; exit 0 ;; esac
scripts/install-deps.sh bench
# The system's, where another python3 comes first on the PATH and knows no matplotlib.
"$python" -c 'import matplotlib' 2>/dev/null || python=/usr/bin/python3
if [ "${1:-}" = --record ]; then
    [ -e "$out/results.json" ] || { echo "bench.sh: there is no $out/results.json: run bench.sh first" >&2; exit 2; }
    cp "$out/results.json" docs/recorded/performance.json
    scripts/demo.sh >"$out/demo.txt"
    sed -n "s|$PWD/||g; s/^== \\[[0-9:]*\\] /== /; /^== A probe on a function/,/times less/p" "$out/demo.txt" |
        bench/terminal.py >docs/recorded/demo.svg
    set -- --redraw
fi
[ "${1:-}" != --redraw ] || exec "$python" bench/report.py docs/recorded/performance.json docs/performance.md docs/recorded docs/overview.md
mkdir -p "$results"
echo "== Building fastsdt (build/bench)"
{ cmake -S . -B "$out" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFASTSDT_TESTS=OFF -DFASTSDT_EXAMPLES=OFF -DFASTSDT_BENCHMARKS=ON &&
    cmake --build "$out"; } >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log" >&2; exit 1; }
"$python" bench/run.py "$@" -o "$results/results.json"
"$python" bench/report.py "$results/results.json" "$results/performance.md" "$results/recorded"
cat "$results/performance.md"
echo "== $results/performance.md, $results/results.json and the pictures in $results/recorded"
