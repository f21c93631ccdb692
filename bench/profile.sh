#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# profile:hz:N beside perf record -F N. Both sample one process at once, since two runs of one program differ by more than the tools do (addresses,
# hash seeds): how many samples each has, and what share of them three functions have. And what sampling costs the program: the least of five runs.
# `bench/profile.sh [HZ]`, as root. For docs/profiling.md.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD hz=${1:-997}
PATH=$top/build/default/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >spin.c <<'C'
#include <stdlib.h>
#define OWN __attribute__((noinline, noclone))
OWN void often(long n) { for (volatile long i = 0; i < 3 * n; ++i) {} }
OWN void rarely(long n) { for (volatile long i = 0; i < n; ++i) {} }
int main(int argc, char **argv) { for (int i = 0; i < atoi(argv[argc - 1]); ++i) { often(100000); rarely(100000); } return 0; }
C
gcc -O1 -g -fno-omit-frame-pointer spin.c -o spin
python=$(python3 -c 'import sys; print(sys.executable)')
words='import re; [re.sub("(a+)b", r"\1", "aaab" * 2000) for _ in range(4000)]'
numbers='import json; [json.loads(json.dumps(list(range(2000)))) for _ in range(15000)]'
# least COMMAND...: of the time that it ran, with its children, in ms; the most recent output stays.
least() {
    for _ in 1 2 3 4 5; do
        python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(1000 * (used.ru_utime + used.ru_stime)))' "$@"
    done | sort -n | awk 'NR == 1'
}
# The innermost frame of each sample that is the program's: in the kernel, where it has called it. That is what fastsdt-trace counts.
program() { awk '!NF { found = 0 } NF && !found && $1 !~ /^ffff/ { print $2, 1; found = 1 }'; }
# shares: of "NAME COUNT" lines the three most frequent names.
shares() {
    awk '{ count[$1] += $2; all += $2 } END { for (name in count) printf "%.1f %s %d\n", 100 * count[name] / all, name, all }' | sort -rn |
        awk 'NR == 1 { printf "%d | ", $3 } NR <= 3 { printf "%s%s %s %%", (NR > 1 ? ", " : ""), $2, $1 }'
}
script="profile:hz:$hz { @[usym(reg(\"ip\"))] = count(); @s[ustack] = count(); }"
echo "| program | alone, ms | with perf record, ms | with fastsdt-trace, ms | perf record: samples | where | fastsdt-trace: samples | where |"
echo "|---|---|---|---|---|---|---|---|"
row() {
    local name=$1 alone perfs ours pid
    shift
    alone=$(least "$@")
    perfs=$(least perf record -q -g -F "$hz" -e cpu-clock -o perf.data "$@")
    ours=$(least fastsdt-trace -o out -e "$script" -- "$@")
    "$@" >/dev/null &
    pid=$!
    perf record -q -g -F "$hz" -e cpu-clock -o perf.data -p "$pid" &
    fastsdt-trace -p "$pid" -o out -e "$script" 2>/dev/null &
    wait
    echo "| $name | $alone | $perfs | $ours | $(perf script -i perf.data -F ip,sym 2>/dev/null | program | shares) |" \
        "$(sed -n 's/^@\[\(.*\)\]: \([0-9]*\)$/\1 \2/p' out | shares) |"
}
row "a loop" ./spin 30000
row "Python, regular expressions" "$python" -c "$words"
row "Python, JSON" "$python" -c "$numbers"
