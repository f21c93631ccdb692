#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How long dtrace -h takes for a provider file with 1,000 probes: systemtap's script and ours, the least of several runs.
# `bench/dtrace.sh [PROBES [RUNS]]`, after a build; needs systemtap-sdt-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
probes=${1:-1000} runs=${2:-10}
ours=$PWD/build/default/bin/fastsdt-dtrace
theirs=/usr/bin/dtrace
[ -x "$ours" ] || { echo "bench/dtrace.sh: build first: $ours is missing" >&2; exit 1; }
head -c 20 $theirs 2>/dev/null | grep -a python >/dev/null || { echo "bench/dtrace.sh: $theirs is not systemtap's script" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
{
    echo 'provider bench {'
    for ((i = 0; i < probes; i++)); do echo "    probe request__number__$i(int id, const char *item, struct node **list);"; done
    echo '};'
} >bench.d
least() { # COMMAND...: milliseconds
    local i start end best=
    for ((i = 0; i < runs; i++)); do
        start=${EPOCHREALTIME/./}
        "$@" -h -s bench.d -o out.h
        end=${EPOCHREALTIME/./}
        [ -n "$best" ] && [ $best -le $((end - start)) ] || best=$((end - start))
    done
    echo "$best" | awk '{ printf "%.1f", $1 / 1000 }'
}
a=$(least "$theirs") b=$(least "$ours")
echo "$a $b" | awk -v probes="$probes" '{ printf "%d probes: systemtap %s ms, fastsdt %s ms, ratio %.0f\n", probes, $1, $2, $1 / $2 }'
