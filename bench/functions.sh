#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# All functions of a program, called at random: what a call of one of COUNT functions takes untraced, counted by fastsdt-trace, recorded by uftrace
# (built with -pg) and under callgrind. Rounds of all are interleaved; the table has the least. Random calls are the worst case: each hit's code and
# counter are cold. `bench/functions.sh [COUNT]`: 16,384 functions, or so many.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/build/default/bin:$PATH
count=${1:-16384} rounds=7 turns=4000000
[[ $count =~ ^[0-9]+$ ]] && [ "$count" -ge 1 ] && [ "$count" -le 65536 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
{
    echo '#include <stdio.h>'
    echo '#include <stdlib.h>'
    echo '#include <time.h>'
    for ((i = 0; i < count; ++i)); do
        echo "static __attribute__((noinline, noclone)) long f$i(long a) { if (a & 64) return a * $((i + 3)) ^ a >> 7; return a + $i; }"
    done
    echo 'static long (*const all[])(long) = {'
    for ((i = 0; i < count; ++i)); do echo "f$i,"; done
    cat <<'C'
};
enum { many = sizeof all / sizeof *all, calls = 1 << 20 };
static unsigned short order[calls];
/* A line of its input is how often to call, or "end"; the answer is ns a call. */
int main(void)
{
    char line[32];
    unsigned seed = 1;
    for (int i = 0; i < calls; ++i)
        order[i] = (unsigned short)((unsigned long)(seed = seed * 1664525 + 1013904223) * many >> 32);
    while (fgets(line, sizeof line, stdin) && *line != 'e') {
        struct timespec a, b;
        long turns = atol(line), sum = 0;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        for (long i = 0; i < turns; ++i)
            sum += all[order[i & (calls - 1)]](sum);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        printf("%.2f %ld\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)turns, sum);
        fflush(stdout);
    }
    return 0;
}
C
} >many.c
gcc -O2 many.c -o many
declare -A in out pid
# start NAME COMMAND...: it answers lines.
start() {
    local name=$1 to from
    shift
    mkfifo "in.$name" "out.$name"
    "$@" <"in.$name" >"out.$name" 2>"err.$name" &
    pid[$name]=$!
    exec {to}>"in.$name" {from}<"out.$name"
    in[$name]=$to out[$name]=$from
}
names=(untraced) traced=fastsdt-trace
start untraced ./many
# Armed when the script's first answer comes.
tracer() {
    cp many "many.$1" # each its own
    start "$1" "$traced" --engine user -o "maps.$1" -e "${2//FILE/./many.$1}" -c "./many.$1"
    names+=("$1")
}
tracer counted 'uprobe:FILE:f* { @ = count(); }'
tracer rejected 'uprobe:FILE:f* /arg0 == 0x123456789/ { @ = count(); }' # the way to a stub and back
tracer counted-by-function 'uprobe:FILE:f* { @[func] = count(); }'
tracer entries-and-exits 'uprobe:FILE:f* { @[func] = count(); } uretprobe:FILE:f* { @out = count(); }'
if command -v uftrace >/dev/null; then
    gcc -O2 -pg many.c -o many.uftrace
    start uftrace uftrace record --no-pager --no-event -d uftrace.data ./many.uftrace
    names+=(uftrace)
fi
if command -v valgrind >/dev/null; then
    start callgrind valgrind --tool=callgrind --callgrind-out-file=/dev/null ./many
    names+=(callgrind)
fi
turn() { # NAME TURNS: to `ns`
    echo "$2" >&"${in[$1]}"
    read -r ns _ <&"${out[$1]}" || { echo "functions.sh: $1 ended: $(tail -n 3 "err.$1")" >&2; exit 1; }
}
turns_of() { case $1 in uftrace) echo $((turns / 20)) ;; callgrind) echo $((turns / 40)) ;; *) echo $turns ;; esac; }
declare -A least
for ((round = 0; round < rounds; ++round)); do
    for name in "${names[@]}"; do
        turn "$name" "$(turns_of "$name")"
        if [ "$round" = 0 ] || awk "BEGIN { exit !($ns < ${least[$name]}) }"; then least[$name]=$ns; fi
    done
done
for name in "${names[@]}"; do
    echo end >&"${in[$name]}" # others hold its input open
    wait "${pid[$name]}" || { echo "functions.sh: $name: $(tail -n 3 "err.$name")" >&2; exit 1; }
done
for name in counted rejected counted-by-function entries-and-exits; do
    grep -qE "^sites ([0-9]+) of \1 armed; dropped 0" "maps.$name" || { echo "functions.sh: $name: $(tail -n 1 "maps.$name")" >&2; exit 1; }
done
echo "| $count functions, called at random | ns a call | times |"
echo "|---|---|---|"
for name in "${names[@]}"; do
    awk -v name="${name//-/ }" -v ns="${least[$name]}" -v plain="${least[untraced]}" 'BEGIN { printf "| %s | %.1f | %.1f |\n", name, ns, ns / plain }'
done
