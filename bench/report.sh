#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a page of `fastsdt-trace report` takes: `bench/report.sh [--record]`, after a build of fastsdt-trace (build/default). The page of a
# trace with one event, of one with a million (and files of its other formats), and of Redis under redis-benchmark for a second, all of whose
# functions are recorded.
# --record draws the last one: docs/recorded/report.png, by chromium. Figures of docs/timelines.md are from here.
set -euo pipefail
[ $# = 0 ] || [ "$*" = --record ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."
top=$PWD
PATH=$top/build/default/bin:$PATH
for tool in fastsdt-trace gcc redis-server redis-cli redis-benchmark ${1:+chromium}; do
    command -v "$tool" >/dev/null || { echo "report.sh: $tool is missing" >&2; exit 1; }
done
work=$(mktemp -d)
server=''
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
cat >app.c <<'END'
#include <fastsdt.h>
#include <stdlib.h>
__attribute__((noinline)) int step(int n, int depth) { return depth == 0 ? n : step(n ^ depth, depth - 1) + 1; }
int main(int argc, char** argv)
{
    int sum = argc;
    for (int i = atoi(argv[1]); i > 0; --i)
        sum += step(i, 9); /* ten calls */
    FASTSDT(app, end, sum);
    return 0;
}
END
gcc -O1 -I"$top/include" app.c -o app
made() { # NAME TRACE
    local begin=$EPOCHREALTIME end
    fastsdt-trace report "$2" -o page.html 2>err || [ $? = 1 ]
    end=$EPOCHREALTIME
    echo "$1: $(sed -nE 's/^fastsdt-trace: ([0-9]+ events?), ([0-9]+ bytes): .*/\1, a page of \2/p' err), made in $(((${end/./} - ${begin/./}) / 1000)) ms"
}
fastsdt-trace record -o one -- ./app 1 >/dev/null 2>&1
made "One event" one
fastsdt-trace record -o million --buffer 256M --functions step -- ./app 50000 >/dev/null 2>&1
made "A million" million
python3 - <<'END'
import os, subprocess
def took(*words):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.wait4(process.pid, 0)[2]
def size(folder):
    return sum(os.stat(os.path.join(folder, name)).st_size for name in os.listdir(folder))
print(f"The trace: {size('million') / 1e6:.1f} MB")
for ending in "pftrace", "json", "otlp.json", "html":
    made = took("fastsdt-trace", "export", "million", "-o", "file." + ending)
    print(f".{ending}: {os.stat('file.' + ending).st_size / 1e6:.1f} MB, {made.ru_utime + made.ru_stime:.2f} s of a processor, {made.ru_maxrss >> 10} MiB of memory")
END

cp "$(command -v redis-server)" .
./redis-server --port 0 --unixsocket "$work/socket" --save '' --appendonly no --daemonize no >log 2>&1 &
server=$!
until redis-cli -s socket ping >/dev/null 2>&1; do kill -0 $server; done
redis-benchmark -s socket -l -c 8 -t set,get,lpush,zadd -q >/dev/null 2>&1 &
load=$!
fastsdt-trace report -o redis.html --buffer 256M --samples 199 -t 1 -p $server >out 2>err || [ $? = 1 ]
kill $load
wait $load 2>/dev/null || true
echo "Redis for a second: $(head -1 out)"
sed -nE 's/^fastsdt-trace: ([0-9]+ events?), ([0-9]+ bytes): .*/\1, a page of \2/p' err
[ $# = 0 ] || python3 -B "$top/tests/engine/browser.py" redis.html "$top/docs/recorded/report.png" 1200 1920 light
