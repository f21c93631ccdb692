#!/bin/bash
# `record -o FILE.json` and its like: a run makes the files that `export` makes of its trace, byte by byte, whole or not at all, and in little
# memory. The program counts its calls itself; calls.sh and report.sh read what the formats have.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable
user_folder
cat >app.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static long turns;
/* Room for a jump where a function returns. */
static long room(long value) { __asm__ volatile(".rept 8\n\tnop\n\t.endr" : "+r"(value)); return value; }
__attribute__((noinline)) long inner(volatile long* n) { return room(++*n); }
__attribute__((noinline)) long outer(volatile long* n)
{
    for (long i = 0; i < turns; ++i) {
        inner(n);
        if (i % 10 == 0)
            FASTSDT(app, tenth, i, "text");
    }
    return room(*n);
}
static void* run(void* unused)
{
    volatile long n = 0;
    outer(&n);
    outer(&n);
    return unused;
}
/* TURNS; TURNS -: once for each line that it reads */
int main(int argc, char** argv)
{
    pthread_t other;
    turns = atol(argv[1]);
    if (argc > 2) {
        for (char line[8]; fgets(line, sizeof line, stdin);) {
            run(NULL);
            puts("did");
            fflush(stdout);
        }
        return 0;
    }
    pthread_create(&other, NULL, run, NULL);
    pthread_join(other, NULL);
    run(NULL);
    return 0;
}
END
gcc -O2 -pthread -I"$INCLUDE" app.c -o app
chown -R 65534:65534 . 2>/dev/null || true
script='uprobe:./app:outer, uprobe:./app:inner, uretprobe:./app:outer, uretprobe:./app:inner { print(0); }
    usdt:./app:app:tenth { printf("%d %s", arg0, str(arg1)); }'
# record OPTIONS...: leaves status, out and err. It has the standard input that this shell has.
record() {
    status=0
    "${as_user[@]}" fastsdt-trace record "$@" >out 2>err || status=$?
}
here() { find . -mindepth 1 -maxdepth 1 ! -name 'app*' ! -name out ! -name err ! -name report ! -name in ! -name answers ! -name maps |
    sort | xargs; }

# All of one run: what it makes and what export makes of its trace later.
record --buffer 4M -e "$script" -o one -o one.json -o one.otlp.json -o one.pftrace -o one.html -- ./app 500
expect "a run: status ($(cat out err))" "$status" 0
expect "a run: what is said" "$(sed -E 's/, [0-9]+ bytes: /: /; s/ of 2 threads//; s/^fastsdt-trace: //' err)" \
    "$(for file in one one.json one.otlp.json one.pftrace one.html; do echo "4208 events: $file"; done)"
for ending in json otlp.json pftrace html; do
    "${as_user[@]}" fastsdt-trace export one -o two.$ending 2>err || fail "export: $(cat err)"
    cmp one.$ending two.$ending || fail "record -o one.$ending and export -o two.$ending differ"
done
"${as_user[@]}" fastsdt-trace report one -o three.html 2>err || fail "report: $(cat err)"
cmp two.html three.html || fail "export -o FILE.html and report -o FILE.html differ"
expect "a run: what is left" "$(here)" \
    "./one ./one.html ./one.json ./one.otlp.json ./one.pftrace ./three.html ./two.html ./two.json ./two.otlp.json ./two.pftrace"
rm -r one* two* three*

# A file alone: what the program does is in it, and nothing else is left.
cat >app.check.py <<'END'
import collections, json, sys
calls, open_, tenths = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "B":
        calls[e["name"], open_[e["tid"]][-1] if open_[e["tid"]] else None] += 1
        open_[e["tid"]].append(e["name"])
    elif e["ph"] == "E":
        assert open_[e["tid"]].pop() == e["name"]
    elif e["ph"] == "i":
        assert open_[e["tid"]] == ["outer"] and list(e["args"].values())[1] == "text", e
        tenths[e["tid"]].append(list(e["args"].values())[0])
turns, threads = int(sys.argv[2]), int(sys.argv[3])
assert calls == {("outer", None): 2 * threads, ("inner", "outer"): 2 * threads * turns}, calls
assert [all_ == 2 * list(range(0, turns, 10)) for all_ in tenths.values()] == threads * [True], tenths
assert not any(open_.values())
END
record --buffer 4M -e "$script" -o alone.json -- ./app 300
expect "a file: status ($(cat err))" "$status $(here)" "0 ./alone.json"
python3 app.check.py alone.json 300 2 || fail "a file: $(tail -n 3 alone.json)"
# One that is there becomes another; functions makes files too.
status=0
"${as_user[@]}" fastsdt-trace functions --functions inner -o alone.json -- ./app 20 >out 2>err || status=$?
expect "functions: status ($(cat err))" "$status $(here) $(awk '$NF == "inner" { print $1 }' out) $(grep -c '"ph":"B"' alone.json)" \
    "0 ./alone.json 80 80"
# What cannot be written is refused before anything runs, and what is there stays.
cp alone.json app.json
mkdir there.json
for file in there.json none/a.json; do
    record -e "$script" -o alone.json -o $file -- ./app 5 - <app.c
    expect "$file: status" "$status $(wc -l <err) $(grep -c "$file" err) $(wc -l <out)" "2 1 1 0"
done
cmp alone.json app.json || fail "another run changed alone.json"
rmdir there.json
# A format without stacks says so.
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || [ "$(id -u)" = 0 ]; then
    status=0
    fastsdt-trace record --samples 999 --functions outer -o alone.json -- ./app 20000000 >out 2>err || status=$?
    seen=$(sed -n 's/^samples \([0-9]*\);.*/\1/p' out)
    expect "samples ($(cat out err))" "$(grep -oE '[0-9]+ samples? of stacks (is|are) not in the file: a page has them' err | cut -d' ' -f1)" "$seen"
fi
rm alone.json

# In little memory, whatever is recorded: in OpenTelemetry's format this has 120 MB.
record --buffer 64M --functions inner -o large -- ./app 100000
expect "a large trace: status ($(cat err))" "$status" 0
for ending in json otlp.json pftrace; do
    python3 - "$ending" <<'END' || fail "memory: $ending"
import os, resource, subprocess, sys
subprocess.run(["fastsdt-trace", "export", "large", "-o", "app.large." + sys.argv[1]], check=True)
most, size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, os.stat("app.large." + sys.argv[1]).st_size
assert most < 48 << 10, f"{most} KiB for a file of {size} bytes"
END
done
rm -r app.large*

# A signal while the file is made: it is not there, and the trace is kept. The tracer stands still from where the file is begun until it has the
# signal.
mkfifo in answers
"${as_user[@]}" ./app 200000 - <in >answers &
pid=$!
exec 3>in 4<answers
mkfifo report
start_tracer "${as_user[@]}" fastsdt-trace record --buffer 64M -o late.otlp.json -p $pid -e "interval:ms:10 { printf(\"armed\n\"); } $script"
did
kill -INT $tracer
until [ -f "$(echo late.otlp.json.??????)" ] || [ -n "$(find . -maxdepth 1 -type f -name 'late.otlp.json.??????')" ]; do
    kill -0 $tracer 2>/dev/null || fail "a signal: the file was made meanwhile: $(cat err)"
done
kill -STOP $tracer
kill -TERM $tracer
kill -CONT $tracer
report
kept=$(echo late.otlp.json.??????)
expect "a signal: $(cat err)" "$status $(here)" "2 ./large ./$kept"
grep -q "^fastsdt-trace: .*late.otlp.json: interrupted, nothing was written; what was recorded is in $kept, of which" err ||
    fail "a signal: $(cat err)"
"${as_user[@]}" fastsdt-trace export "$kept" -o kept.json || fail "export of what was kept"
python3 app.check.py kept.json 200000 1 || fail "a signal: what was kept"
rm -r large kept.json late*
exec 5<&-

# One that is killed leaves what it recorded, and no file.
start_tracer "${as_user[@]}" fastsdt-trace record -o killed.json -p $pid -e 'interval:ms:10 { printf("armed\n"); }
    usdt:./app:app:tenth /arg0 == 10/ { printf("%d", arg0); }'
did
until [ -s "$(echo killed.json.??????/metadata)" ]; do
    kill -0 $tracer || fail "killed: $(cat err)"
    did
done
kill -KILL $tracer
wait $tracer 2>/dev/null || true
exec 3>&- 4<&- 5<&-
wait "$pid"
expect "killed" "$(here)" "./$(echo killed.json.??????)"
"${as_user[@]}" fastsdt-trace export killed.json.?????? -o killed.json 2>err || fail "killed: $(cat err)"
[ "$(grep -c '"name":"app:tenth".*"args":{".*":10}' killed.json)" -ge 2 ] || fail "killed: $(tail -n 3 killed.json)"

# A disk that is full: one sentence, and nothing is there.
if [ "$(id -u)" = 0 ] && mkdir app.small && mount -t tmpfs -o size=64k none app.small 2>/dev/null; then
    status=0
    fastsdt-trace record --buffer 4M -e "$script" -o app.small/one.json -- ./app 300 >out 2>err || status=$?
    in_small=$(ls app.small)
    umount app.small
    expect "a full disk: status" "$status $(grep -c 'No space left' err) $in_small" "2 1 "
fi
