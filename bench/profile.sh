#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# profile:hz:N beside perf record -F N: how many samples each has of the same programs, what share its most frequent function has, and what
# sampling costs the program, as the least of five runs. `bench/profile.sh [HZ]`, as root. For docs/profiling.md.
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
numbers='import json; [json.loads(json.dumps(list(range(2000)))) for _ in range(3000)]'
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
share() { awk '{ count[$1] += $2; all += $2; if (count[$1] > count[most]) most = $1 } END { printf "%d | %s %.1f %%", all, most, 100 * count[most] / all }'; }
echo "| program | alone, ms | perf record: samples | of them | with the tool, ms | fastsdt-trace: samples | of them | with the tool, ms |"
echo "|---|---|---|---|---|---|---|---|"
row() {
    local name=$1
    shift
    alone=$(least "$@")
    perfs=$(least perf record -q -g -F "$hz" -e cpu-clock -o perf.data "$@")
    ours=$(least fastsdt-trace -o out -e "profile:hz:$hz { @[usym(reg(\"ip\"))] = count(); @s[ustack] = count(); }" -- "$@")
    echo "| $name | $alone | $(perf script -i perf.data -F ip,sym 2>/dev/null | program | share) | $perfs |" \
        "$(sed -n 's/^@\[\(.*\)\]: \([0-9]*\)$/\1 \2/p' out | share) | $ours |"
}
row "a loop" ./spin 5000
row "Python, regular expressions" "$python" -c "$words"
row "Python, JSON" "$python" -c "$numbers"
