#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Calls of Go programs by goroutine: `functions`, `record`, `export` and `report` of churn.go, whose goroutines go on on other threads, panic and have
# stacks that move. Calls are as many as the program makes, and each track is a goroutine's, or a thread's for C and for the runtime's own work.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
need_go
export GOMAXPROCS=4
rm -rf trace* c ./*.json ./*.html
go build -ldflags=-w -o goes "$FASTSDT_SOURCE/tests/engine/churn.go" || fail "go cannot build it"

# check.py TABLE TRACE.json LOOPS [FUNCTION...]: a table of `functions --json` and the same trace in Chrome's format, against what churn.go does.
cat >check.py <<'END'
import collections, json, re, sys
values = [1000 * g + n for g in range(8) for n in range(int(sys.argv[3]))]
values += [v for v in values if v % 64 == 0]
expected = {"pass": len(values), "turn": len(values), "recovered": len(values), "counted": len(values), "short": 2001 * len(values),
    "deep": sum(v % 200 + 1 for v in values), "frames": sum(v % 40 + 1 for v in values if v % 16 == 0), "work": 8, "main": 1}
panicked = sum(v % 200 + 1 for v in values if v % 5 == 0)
table = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["type"] == "function":
        table[row["data"]["function"]] = row["data"]
names, open_calls, begun, last, deepest, left = {}, collections.defaultdict(list), collections.Counter(), {}, 0, 0
of = collections.defaultdict(set)
for event in json.load(open(sys.argv[2]))["traceEvents"]:
    track = event["pid"], event["tid"]
    if event["ph"] == "M":
        if event["name"] == "thread_name":
            names[track] = event["args"]["name"]
        continue
    assert last.get(track, 0) <= event["ts"], f"time goes back: {event}"
    last[track] = event["ts"]
    if event["ph"] == "B":
        open_calls[track].append(event["name"])
        begun[event["name"]] += 1
        of[event["name"]].add(names[track])
        deepest = max(deepest, open_calls[track].count("main.deep"))
    elif event["ph"] == "E":
        assert open_calls[track] and open_calls[track].pop() == event["name"], f"not the innermost call: {event}"
assert not any(open_calls.values()), open_calls
wanted = sys.argv[4:] or list(expected)
for name in wanted:
    calls = expected[name]
    assert table["main." + name]["calls"] == calls, f"{name}: {calls}, and not {table['main.' + name]}"
    assert begun["main." + name] == calls, f"{name}: {calls}, and in the trace {begun['main.' + name]}"
    assert all(re.fullmatch("goroutine [1-9][0-9]*", track) for track in of["main." + name]), f"{name}: {of['main.' + name]}"
assert deepest == max(v % 200 + 1 for v in values), f"main.deep is open {deepest} times"
if "work" in wanted:
    assert len(of["main.work"]) == 8 and of["main.main"] == {"goroutine 1"}, of
    # What it calls is within its time, whichever threads execute it.
    work, inner = table["main.work"], sum(row["self_ns"] for name, row in table.items() if name not in ("main.main", "main.start"))
    assert work["total_ns"] >= table["main.turn"]["total_ns"] - table.get("main.work.func1", work)["total_ns"], table
print(panicked)
END
# functions OPTIONS...: leaves its rows and the trace as JSON. A thread that is in a stub when the program ends loses that event.
functions() {
    local status=0
    rm -rf trace
    fastsdt-trace functions --json --buffer 32M -o trace "$@" >table 2>err </dev/null || status=$?
    [ $status = 0 ] || grep -q '^fastsdt-trace: [1-4] events\? w[a-z]* lost, since' err || fail "functions $*: $(cat err; tail -n 1 table)"
    fastsdt-trace export trace -o trace.json 2>export || [ $status = $? ] || fail "export: $(cat export)"
    grep '"type":"function"' table >rows
}
functions --functions 'main.*' -- ./goes 9
panicked=$(python3 check.py rows trace.json 9) || fail "calls of a Go program: $(cat err)"
# All that panics have left did not return, nothing else, and no entry is missing.
grep -q "^fastsdt-trace: $panicked calls did not return" err || fail "$panicked calls end by a panic: $(cat err)"
grep -q "$panicked calls did not return" export || fail "$panicked calls end by a panic: $(cat export)"
! grep -q 'without an entry' err export || fail "an exit without an entry: $(cat err)"
grep -q ' of 0 threads and [0-9]* goroutines, ' err || fail "whose events: $(cat err)"
# Where no outer function is traced, the next call that is less deep in the stack tells that a panic has left the others.
functions --functions main.deep -- ./goes 30
python3 check.py rows trace.json 30 deep >panicked || fail "calls that only a panic ends: $(cat err)"
grep -q "^fastsdt-trace: $(cat panicked) calls did not return" err || fail "$(cat panicked) calls end by a panic: $(cat err)"

# ---- The other formats, and a page.
fastsdt-trace export trace -o trace.pftrace 2>err || fail "export: $(cat err)"
grep -qa 'goroutine [1-9]' trace.pftrace || fail "Perfetto's format has no goroutines"
fastsdt-trace export trace -o trace.otlp.json 2>err || fail "export: $(cat err)"
grep -q '"thread.name","value":{"stringValue":"goroutine [1-9]' trace.otlp.json || fail "no spans of goroutines"
! grep -q '"thread.id"' trace.otlp.json || fail "a goroutine has no thread's id"
fastsdt-trace report trace -o page.html 2>err || fail "report: $(cat err)"
python3 - <<'END' || fail "the page: $(cat err)"
import json, re
page = json.loads(re.search(r'<script [^>]*type="application/json"[^>]*>(.*?)</script>', open("page.html").read(), re.S)[1])
rows = [json.loads(line)["data"] for line in open("rows")]
deep = next(one for one in page["functions"] if one["name"] == "main.deep")
assert deep["calls"] == rows[0]["calls"] and abs(deep["total"] - rows[0]["total_ns"]) < 1e-4 * rows[0]["total_ns"] + 1000, (deep, rows)
assert page["unfinished"] == int(open("panicked").read()), page["unfinished"]
assert all(re.fullmatch("goroutine [0-9]+", one["name"]) for one in page["threads"]), page["threads"]
END
fastsdt-trace report -o page2.html --functions main.pass -- ./goes 3 >out 2>err || fail "report of what is recorded now: $(cat err)"
grep -q 'goroutine [1-9]' page2.html || fail "no goroutine on the page"

# ---- A script's own events, and what follows a shell that starts the program.
rm -rf trace2
fastsdt-trace record -o trace2 -e 'uprobe:./goes:main.counted { printf("%d", arg0); }' -- sh -c './goes 5; true' >out 2>err ||
    fail "record: $(cat err)"
fastsdt-trace export trace2 -o trace2.json
python3 - <<'END' || fail "a script's events: $(cat trace2.json)"
import json
events = json.load(open("trace2.json"))["traceEvents"]
names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
values = [1000 * g + n for g in range(8) for n in range(5)]
seen = [(names[event["tid"]], *event["args"].values()) for event in events if event["ph"] in "iB"]
assert sorted(value for _, value in seen) == sorted(values + [v for v in values if v % 64 == 0]), seen
assert all(name.startswith("goroutine ") for name, _ in seen), seen
END

# ---- Who pairs by thread says so: here nothing names the program before the shell executes it. Where a word of the COMMAND does, that is known.
status=0
fastsdt-trace functions --functions main.pass -- sh -c './goes 5; true' >out 2>err || status=$?
expect "a program that nothing names" "$status $(grep -c 'paired by thread' err)" "1 1"
status=0
fastsdt-trace latency main.pass -- sh -c './goes 5; true' >out 2>err || status=$?
expect "latency of a program that nothing names" "$status $(grep -c 'paired by thread' err)" "1 1"
fastsdt-trace top --functions ./goes:main.pass -- sh -c './goes 5; true' >out 2>err || fail "top of a file that is named: $(cat err)"
expect "top of a file that is named" "$(grep -c 'paired by thread' err)" 0
fastsdt-trace latency main.pass -- ./goes 5 >out 2>err || fail "latency: $(cat err)"
expect "latency of one that is named" "$(grep -c 'paired by thread' err)" 0
# Rarely env executes it while this tool looks at what env has mapped, and traces it for that: then the run says that hits are missing.
for _ in 1 2 3; do
    status=0
    fastsdt-trace functions --functions main.pass -- env A=1 ./goes 5 >out 2>err || status=$?
    [ "$status" != 0 ] && grep -q 'found after it had begun' err || break
done
expect "behind env: $(cat err)" "$status" 0
expect "behind env ($(cat err))" "$(awk '$NF == "main.pass" { print $1 }' out) $(grep -c 'paired by thread' err)" "41 0"

# ---- The runtime's own work is on threads. Functions that never return there, since the scheduler goes on somewhere else, end with the next one.
functions --functions 'runtime.*' -- ./goes 3
python3 - <<'END' || fail "the runtime's own functions"
import collections, json
names, depth, most = {}, collections.Counter(), collections.Counter()
for event in json.load(open("trace.json"))["traceEvents"]:
    track = event["tid"]
    if event["name"] == "thread_name":
        names[track] = event["args"]["name"]
    depth[track] += {"B": 1, "E": -1}.get(event["ph"], 0)
    most[track] = max(most[track], depth[track])
kinds = {name.split(" ")[0] for name in names.values()}
assert kinds == {"goroutine", "goes"}, names
assert max(most.values()) < 60, most
END

# ---- Where events are lost, calls end that may have ended there; the rest is as it was.
rm -rf trace
status=0
fastsdt-trace functions --json --buffer 64K -o trace --functions 'main.*' -- ./goes 9 >table 2>err || status=$?
expect "a buffer that is too small: status ($(cat err))" $status 1
status=0
fastsdt-trace export trace -o trace.json 2>export || status=$?
expect "export of it: status ($(cat export))" $status 1
grep -q 'open where events were lost' err || fail "no call was open where events were lost: $(cat err)"
lost=$(sed -n 's/^fastsdt-trace: \([0-9]*\) events were lost, since.*/\1/p' err)
grep -q "^fastsdt-trace: $lost events were lost when" export || fail "lost $lost: $(cat export)"
python3 - <<'END' || fail "a trace with gaps"
import collections, json
open_calls = collections.defaultdict(list)
for event in json.load(open("trace.json"))["traceEvents"]:
    if event["ph"] == "B":
        open_calls[event["tid"]].append(event["name"])
    elif event["ph"] == "E":
        assert open_calls[event["tid"]].pop() == event["name"], event
    assert len(open_calls[event["tid"]]) < 230, event
assert not any(open_calls.values())
END
# The newest events only: each thread's begin somewhere else.
rm -rf trace
fastsdt-trace record --flight --buffer 64K -o trace --functions 'main.*' -- ./goes 9 >out 2>err || fail "record --flight: $(cat err)"
fastsdt-trace export trace -o trace.json 2>export || fail "export of the newest: $(cat export)"
grep -q '"goroutine [1-9]' trace.json || fail "no goroutine in $(cat trace.json)"

# ---- With C code: its functions are on threads, under their names.
if have gcc; then
    mkdir c
    cp "$FASTSDT_SOURCE/tests/engine/churn.go" c
    cat >c/c.go <<'END'
package main

// long twice(long);
import "C"

func init() { extra = func(i int64) { check(int64(C.twice(C.long(i))) == 2*i) } }
END
    cat >c/c.c <<'END'
__attribute__((noinline)) long half_twice(long a) { __asm__ volatile("nopl 8(%%rax,%%rax)" : "+D"(a)); return a; }
long twice(long a) { long b = half_twice(a); __asm__ volatile("" : "+r"(b)); return a + b; }
END
    printf 'module c\ngo 1.18\n' >c/go.mod
    (cd c && CGO_ENABLED=1 go build -ldflags=-w -o ../both .) || fail "go cannot build it with C"
    functions --functions 'main.*,half_twice' -- ./both 9
    python3 check.py rows trace.json 9 >panicked || fail "calls of a program with C: $(cat err)"
    python3 - <<'END' || fail "C code of a Go program: $(cat err)"
import json
names, seen, passes = {}, [], 0
for event in json.load(open("trace.json"))["traceEvents"]:
    if event["name"] == "thread_name":
        names[event["tid"]] = event["args"]["name"]
    if event["ph"] == "B":
        passes += event["name"] == "main.pass"
        if event["name"] == "half_twice":
            seen.append(names[event["tid"]])
assert len(seen) == passes and not any(name.startswith("goroutine") for name in seen), (len(seen), passes, set(seen))
END
    # What a function of C has where Go has its goroutine is anything.
    status=0
    fastsdt-trace --engine user -e 'uprobe:./both:half_twice { @[goid] = count(); }' -- ./both 1 >out 2>err || status=$?
    grep -q 'wants goid, and is no function of a Go program' out || fail "goid in C code (status $status): $(cat out err)"
fi
