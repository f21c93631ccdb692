#!/bin/bash
# Timelines: what `fastsdt-trace record` writes, as babeltrace2 reads it, and what `functions` and `export` make of it. The expected
# values follow from the programs.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3 babeltrace2
need_attachable
user_folder
cat >app.c <<'END_OF_C'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static int hits;
static pthread_barrier_t all;
static void* run(void* number)
{
    const int thread = (int)(long)number;
    char name[16];
    snprintf(name, sizeof name, thread == 1 ? "a\"b\\c\033{%%};\n" : "worker-%d", thread);
    prctl(PR_SET_NAME, name);
    for (int i = 0; i < hits; ++i)
        FASTSDT_NAMED(app, hit, (int, id, -i), (uint8_t, class, thread + i), (uint64_t, large, UINT64_MAX - (unsigned)i), (int16_t, id, thread));
    if (thread)
        pthread_barrier_wait(&all); /* until the tracer could see the name */
    return NULL;
}
/* app HITS THREADS CHILDREN; HITS THREADS -: does it again for each line that it reads */
int main(int argc, char** argv)
{
    const int threads = atoi(argv[2]), children = argc > 3 ? atoi(argv[3]) : 0;
    pthread_t some[64];
    hits = atoi(argv[1]);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 3 && strcmp(argv[3], "-") == 0) {
        for (char line[8]; fgets(line, sizeof line, stdin);) {
            run(0);
            puts("did");
        }
        return 0;
    }
    pthread_barrier_init(&all, NULL, (unsigned)threads + 1);
    for (long i = 1; i <= threads; ++i)
        pthread_create(&some[i], NULL, run, (void*)i);
    for (int i = 0; i < children; ++i)
        if (fork() == 0) {
            run(0);
            _exit(0);
        }
    while (children && wait(NULL) > 0)
        ;
    if (threads) {
        char line[8];
        if (argc > 3 && strcmp(argv[3], "wait") == 0 && !fgets(line, sizeof line, stdin))
            return 1;
        pthread_barrier_wait(&all);
    }
    for (int i = 1; i <= threads; ++i)
        pthread_join(some[i], NULL);
    FASTSDT(app, done);
    return 0;
}
END_OF_C
gcc -O2 -pthread -I"$INCLUDE" app.c -o app
chown -R 65534:65534 . 2>/dev/null || true
# record OPTIONS...: leaves status, out and err, and no trace from before.
# It has the standard input that this shell has.
record() {
    status=0
    rm -rf trace
    "${as_user[@]}" fastsdt-trace record -o trace "$@" >out 2>err || status=$?
}
nothing_left() { [ -z "$(find . -maxdepth 1 -name 'trace*')" ] || fail "$1: there is $(ls -d trace*)"; }

# Every hit with its arguments, by their names, sizes and signs; each thread in its order.
record -- ./app 3000 8
expect "record: status" "$status $(cat out)" "0 sites 2 of 2 armed; dropped 0"
grep -qE '^fastsdt-trace: 24001 events of 9 threads, [0-9]+ bytes: trace$' err || fail "record: $(cat err)"
babeltrace2 trace >text 2>errors || fail "babeltrace2: $(cat errors)"
expect "babeltrace2" "$(cat errors)" ""
python3 - <<'END_OF_PYTHON' || fail "the trace: $(tail -3 text)"
import re
of, last = {}, ""
for line in open("text"):
    assert last <= line[:20], (last, line)
    last = line[:20]
    name, tid, fields = re.search(r"\) (app:\w+): \{ pid = \d+, tid = (\d+), .*\}, \{ (.*)\}$", line).groups()
    if name == "app:hit":
        numbers = [int(n) for n in re.fullmatch(r"id = (-?\d+), class = (\d+), large = (\d+), id_2 = (\d+) ", fields).groups()]
        of.setdefault(tid, []).append(numbers)
    else:
        assert fields == "" and name == "app:done"
assert sorted(hits[0][3] for hits in of.values()) == list(range(1, 9))
for hits in of.values():
    assert hits == [[-i, (hits[0][3] + i) % 256, 2**64 - 1 - i, hits[0][3]] for i in range(3000)]
END_OF_PYTHON
# The clock is the time of day.
record -- ./app 1 0 1
python3 - "$(date +%s)" <<END_OF_PYTHON || fail "the clock: $(babeltrace2 --clock-seconds trace)"
import sys
assert abs(float("$(babeltrace2 --clock-seconds trace | sed -n '1s/^\[\([0-9.]*\)\].*/\1/p')") - int(sys.argv[1])) < 60
END_OF_PYTHON
expect "a child" "$status $(babeltrace2 trace | grep -c 'app:hit:.*id = 0, class = 0, large = 18446744073709551615, id_2 = 0 }')" "0 1"

# Forked children are processes of their own.
record -- ./app 100 0 5
expect "children" "$status $(babeltrace2 trace | grep 'app:hit' | grep -o 'pid = [0-9]*' | sort | uniq -c | awk '{print $1}' | xargs)" \
    "0 100 100 100 100 100"

# Events of a script are its printf()s; all else of it is done as ever.
record -e 'usdt:./app:app:hit /args.class > 97/ { printf("%d %s %d", (int64)arg0 * 2, comm, args.class); } usdt:./app:app:hit { @n = count(); } END { printf("end\n"); }' -- ./app 100 0 1
expect "a script" "$status $(xargs <out)" "0 end @n: 100 sites 1 of 1 armed; dropped 0; followed 1"
expect "its events" "$(babeltrace2 trace | sed 's/.*}, //')" '{ value0 = -196, comm = "worker-0", class = 98 }
{ value0 = -198, comm = "worker-0", class = 99 }'
record -e 'usdt:./app:app:hit { @n = count(); }' -- ./app 100 0 1
expect "no printf()" "$status $(cat err)" "2 fastsdt-trace: the script has no printf() at a probe, so there would be nothing to record"
nothing_left "no printf()"

# What is lost is counted, in the trace too.
record --buffer 4K -- ./app 200000 0 2
lost=$(sed -n 's/.*; lost \([0-9]*\);.*/\1/p' out)
expect "lost: status" "$status" 1
babeltrace2 trace >text 2>errors
expect "recorded and lost" "$(($(grep -c app:hit text) + lost))" 400000
grep -q 'Tracer .*discarded' errors || fail "lost: babeltrace2 does not say it: $(cat errors)"
expect "lost: the streams' counts" "$(python3 - <<'END_OF_PYTHON'
import glob, struct
total = 0
for name in glob.glob("trace/stream_*"):
    data, at = open(name, "rb").read(), 0
    while at < len(data):
        _, _, _, size, _, lost = struct.unpack_from("<6Q", data, at + 32)
        at += size // 8
    total += lost
print(total)
END_OF_PYTHON
)" "$lost"

# A folder that is there stays as it was, and so does everything if the trace cannot be made.
mkdir there
status=0
"${as_user[@]}" fastsdt-trace record -o there -- ./app 1 0 1 2>err || status=$?
expect "a folder that is there" "$status $(cat err)$(ls there)" \
    "2 fastsdt-trace: there: it is there already; a trace is written to a folder of its own"
status=0
"${as_user[@]}" fastsdt-trace record -o none/trace -- ./app 1 0 1 2>err || status=$?
expect "no folder for the folder" "$status $(cat err)" "2 fastsdt-trace: none/trace: no trace can be written: No such file or directory"
record --probes nothing -- ./app 1 0 1
expect "no such probe" "$status $(grep -c 'nothing matched --probes nothing' err)" "1 1"
record --probes nothing -p $$
expect "no such probe in a process: status" "$status" 2
nothing_left "no such probe in a process"

# A run that is interrupted has a whole trace.
driven ./app 50 0 -
did
text >before
# begin: records the process until it is stopped; returns when it is armed.
begin() {
    rm -rf trace
    start_tracer "${as_user[@]}" fastsdt-trace record -o trace -p $pid \
        -e 'interval:ms:10 { printf("armed\n"); } usdt:./app:app:hit { printf("%d", args.id); }'
}
for signal in INT TERM; do
    begin
    did
    kill -$signal $tracer
    report
    expect "SIG$signal: $(cat err)" "$status $(babeltrace2 trace | grep -o '{ id = [0-9-]*' | grep -o '[0-9-]*$' | xargs)" \
        "0 0 $(seq -s' ' -1 -1 -49)"
done
text >after
cmp -s before after || fail "the text is not as it was"

# One that is killed leaves no trace under the name, and nothing that disturbs the next.
begin
did
kill -KILL $tracer
wait $tracer 2>/dev/null || true
exec 5<&-
[ ! -e trace ] || fail "a killed tracer left a trace"
rm -rf trace.*
did
begin
did
kill -INT $tracer
report
expect "after one that was killed: $(cat err)" "$status $(babeltrace2 trace | wc -l)" "0 50"
text >after
cmp -s before after || fail "the text is not as it was after a tracer that was killed"
exec 3>&-
wait $pid

# Names are of whoever made the file or the thread: they do not end a name in the trace, nor reach a terminal.
python3 - <<'END_OF_PYTHON'
data = open("app", "rb").read()
changed = data.replace(b"app\0hit\0", b"a\"\\\0\x1b;}\0").replace(b"uint64_t\0large\0", b"uint64_t\0l}\"\x1b\\\0")
assert changed.count(b"l}\"\x1b\\\0") == 1 and changed.count(b"a\"\\\0\x1b;}\0") >= 2
open("hostile", "wb").write(changed)
END_OF_PYTHON
chmod +x hostile
exec 9<>in
record --buffer 64K -e 'usdt:./hostile:*:??? { printf("%d %lu %s", arg0, arg2, comm); if (arg0 == -1) { exit(); } }' -- ./hostile 2 1 wait <&9
expect "hostile names: status" "$status $(cat out)" "0 sites 1 of 1 armed; dropped 0"
babeltrace2 trace >text 2>errors || fail "hostile names: babeltrace2: $(cat errors) $(cat trace/metadata)"
expect "hostile names" "$(sed 's/^[^)]*) //; s/[pt]id = [0-9]*/N/g' text)" \
    'a"\:\x1b;}: { N, N, process = "hostile", thread = "a\"b\\c\\x1b{%};" }, { id = 0, l____ = 18446744073709551615, comm = "a\"b\\c\e{%};\n" }
a"\:\x1b;}: { N, N, process = "hostile", thread = "a\"b\\c\\x1b{%};" }, { id = -1, l____ = 18446744073709551614, comm = "a\"b\\c\e{%};\n" }'
"${as_user[@]}" fastsdt-trace export trace -o trace.json || fail "hostile names: export"
expect "hostile names: JSON" "$(python3 - <<'END_OF_PYTHON'
import json
events = json.load(open("trace.json"))["traceEvents"]
print([e["args"]["name"] for e in events if e["ph"] == "M"], [(e["name"], e["args"]) for e in events if e["ph"] == "i"][1])
END_OF_PYTHON
)" "['hostile', 'a\"b\\\\c\\\\x1b{%};'] ('a\"\\\\:\\\\x1b;}', {'id': -1, 'l____': '18446744073709551614', 'comm': 'a\"b\\\\c\\x1b{%};\\n'})"

# A tracer that is killed leaves a folder with another name, in which all but the newest is.
rm -rf trace trace.??????
"${as_user[@]}" fastsdt-trace record -o trace -e 'usdt:./app:app:hit { printf("%d", arg0); }' -- ./app 3 0 - <&9 >out 2>err &
tracer=$!
until [ -s "$(echo trace.??????/metadata)" ]; do echo more >&9; kill -0 $tracer || fail "killed: $(cat err)"; done
left=$(cat /proc/$tracer/task/*/children) # the program, which goes on
kill -KILL $tracer
wait $tracer 2>/dev/null || true
kill $left
babeltrace2 trace.?????? >text 2>errors || fail "killed: babeltrace2: $(cat errors)"
[ "$(grep -c 'app:hit' text)" -ge 3 ] || fail "killed: $(head -3 text)"
