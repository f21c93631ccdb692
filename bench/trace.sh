#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What tracing in user space costs, and the others on the same program: `trace.sh [--quick]` measures the part `trace` of scripts/bench.sh
# alone and prints its section. Needs root, and fastsdt with fastprobe for GCC built: FASTSDT_BUILD, by default build/bench, then build/default.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
"" | --quick) ;;
*)
    sed -n '3,/^[^#]/s/^# //p' "$0"
    exit 2
    ;;
esac
for build in "${FASTSDT_BUILD:-build/bench}" build/default; do
    [ ! -x "$build/bin/fastsdt-trace" ] || break
done
export FASTSDT_BUILD=$build
python3 bench/run.py --only trace "$@" -o "$build/trace.json"
python3 bench/report.py --trace "$build/trace.json"
