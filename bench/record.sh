#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How many events `fastsdt-trace record` takes, and whether it loses any: `bench/record.sh`, after a build of fastsdt (build/default) with
# fastprobe for GCC. First two threads that hit a probe again and again, with a pause; then SQLite's speedtest1 with the entries and exits
# of all its functions, whose trace babeltrace2 reads. Fetches SQLite's source package. Figures of docs/timelines.md are from here.
set -euo pipefail
[ $# = 0 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."
top=$PWD
PATH=$top/build/default/bin:$PATH
. scripts/common/versions.sh
plugin=$(FASTSDT_BUILD=$top/build/default plugin gcc)
for tool in fastsdt-trace babeltrace2 "$plugin"; do command -v "$tool" >/dev/null || { echo "record.sh: $tool is missing" >&2; exit 1; }; done
scripts/common/upstream-source.sh sqlite3 build/real-programs/upstream
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# recorded OPTIONS...: leaves events and lost.
recorded() {
    rm -rf trace
    fastsdt-trace record -o trace "$@" >out 2>err || [ $? = 1 ] || { cat err >&2; exit 1; }
    events=$(sed -nE 's/^fastsdt-trace: ([0-9]+) events? of .*/\1/p' err) lost=$(sed -nE 's/^sites .*; lost ([0-9]+).*/\1/p' out)
    lost=${lost:-0}
}

cat >two.c <<'END_OF_C'
#include <fastsdt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long hits, pause_turns;
static void* run(void* unused)
{
    for (long i = 0; i < hits; ++i) {
        FASTSDT(two, hit, i);
        for (volatile long turn = 0; turn < pause_turns; ++turn)
            ;
    }
    return unused;
}
int main(int argc, char** argv) /* two HITS PAUSE: of each thread; prints the seconds that it took */
{
    struct timespec a, b;
    pthread_t other;
    hits = atol(argv[argc - 2]);
    pause_turns = atol(argv[argc - 1]);
    clock_gettime(CLOCK_MONOTONIC, &a);
    pthread_create(&other, NULL, run, NULL);
    run(NULL);
    pthread_join(other, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%f\n", (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
    return 0;
}
END_OF_C
gcc -O2 -pthread -I"$top/include" two.c -o two
echo "Two threads, 10,000,000 hits of one argument each, --buffer 16M, $(nproc) processors:"
for pause in 400 200 150 100 50; do
    recorded --buffer 16M -- ./two 10000000 $pause
    awk -v events="$events" -v lost="$lost" -v seconds="$(head -n 1 out)" 'BEGIN {
        printf "  %.1f million hits a second, %.2f %% lost\n", (events + lost) / seconds / 1e6, 100 * lost / (events + lost) }'
done

source=$top/build/real-programs/upstream/sqlite3
"$plugin" -O2 -w -fplugin="$top/build/default/$plugin/fastprobe.so" -fplugin-arg-fastprobe-entry=nop10 -fplugin-arg-fastprobe-exit=nop10 \
    -I"$source/bld" -DSQLITE_THREADSAFE=0 "$source/test/speedtest1.c" "$source/bld/sqlite3.c" -o speedtest1 -lm -ldl
recorded --functions '*' --buffer 1G -- ./speedtest1 --size 5 :memory:
echo "speedtest1 --size 5, all functions, --buffer 1G: $events events, $lost lost, $(du -sb trace | cut -f1) bytes"
tail -n 1 out
babeltrace2 trace |
    awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^u(ret)?probe:/) { split($i, name, ":"); n[name[2], name[1]]++; f[name[2]]; all[name[1]]++; break } }
    END { for (i in f) if (n[i, "uprobe"] != n[i, "uretprobe"]) { odd++; what = what " " i }
          printf "  babeltrace2 reads %d entries and %d exits; functions whose entries are not as many as their exits: %d%s\n", all["uprobe"], all["uretprobe"], odd, what }'
