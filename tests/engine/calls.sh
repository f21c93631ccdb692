#!/bin/bash
# `fastsdt-trace functions`, entries and exits in a trace, and what `export` makes of them: recursion, threads, exceptions, longjmp() and
# the end of the program. The program itself counts the calls; babeltrace2 and Python's json read what is written.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
. "$FASTSDT_SOURCE/scripts/common/versions.sh"
plugin=$(plugin gcc)
[ -n "$plugin" ] || skip "fastprobe was not built for GCC"
need "$plugin" python3 babeltrace2
rm -rf trace other damaged small
cat >calls.cpp <<'END_OF_C'
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#define KEEP extern "C" __attribute__((noinline, noclone))
static __thread long counted[6];
enum { fib_, leaf_, throws_, jumps_, pauses_, ends_ };
static const char* const names[] = {"fib", "leaf", "throws", "jumps", "pauses", "ends"};
static long total[6];
static __thread jmp_buf place;
KEEP int leaf(int n) { ++counted[leaf_]; __asm__ volatile(""); return n; }
KEEP int fib(int n)
{
    ++counted[fib_];
    return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2);
}
KEEP int throws(int n)
{
    ++counted[throws_];
    if (n == 0)
        throw 1;
    return throws(n - 1) + 1;
}
KEEP void jumps(int n)
{
    ++counted[jumps_];
    if (n == 0)
        longjmp(place, 1);
    jumps(n - 1);
    __asm__ volatile("");
}
KEEP void pauses(void)
{
    ++counted[pauses_];
    timespec time = {0, 20000000};
    nanosleep(&time, nullptr);
}
static void add(void)
{
    for (int i = 0; i < 6; ++i)
        __atomic_add_fetch(&total[i], counted[i], __ATOMIC_RELAXED);
}
KEEP void* thread(void*)
{
    fib(12);
    try {
        throws(3);
    } catch (int) {
    }
    if (setjmp(place) == 0)
        jumps(2);
    leaf(1);
    add();
    return nullptr;
}
KEEP void ends(void)
{
    ++counted[ends_];
    add();
    for (int i = 0; i < 6; ++i)
        printf("%s %ld\n", names[i], total[i]);
    exit(0);
}
int main()
{
    pthread_t some[3];
    for (pthread_t& one : some)
        pthread_create(&one, nullptr, thread, nullptr);
    for (pthread_t one : some)
        pthread_join(one, nullptr);
    pauses();
    ends();
}
END_OF_C
"${plugin/gcc/g++}" -O1 -fno-optimize-sibling-calls -pthread -fplugin="$FASTSDT_BUILD/$plugin/fastprobe.so" -fplugin-arg-fastprobe-entry=nop10 \
    -fplugin-arg-fastprobe-exit=nop10 calls.cpp -o calls
status=0
fastsdt-trace functions --functions 'fib,leaf,throws,jumps,pauses,thread,main,ends' -o trace -- ./calls >out 2>err || status=$?
# What never returns has no exit.
expect "functions: status" "$status $(tail -1 out)" "1 sites 14 of 16 armed (2 have no exit sites); dropped 0"
# Calls, as the program counted them.
grep -E '^(fib|leaf|throws|jumps|pauses|ends) [0-9]+$' out | sort >wanted
[ "$(wc -l <wanted)" = 6 ] || fail "the program did not count: $(cat out err)"
awk '$NF ~ /^(fib|leaf|throws|jumps|pauses|ends)$/ && NF > 3 { print $NF, $1 }' out | sort >found
diff wanted found >difference || fail "calls: $(cat difference out)"
# Three threads left four calls of throws() and three of jumps() each; ends() and main() were open at the end.
grep -q '^fastsdt-trace: 23 calls did not return, ' err || fail "unfinished calls: $(cat err)"
fastsdt-trace functions --json --functions 'fib,leaf,pauses,thread,main' -- ./calls >json 2>err || [ $? = 1 ] ||
    fail "functions --json: $(cat err json)"
python3 - <<'END_OF_PYTHON' || fail "times: $(cat json)"
import json
rows = [json.loads(line) for line in open("json") if line.startswith("{")]
of = {row["data"]["function"]: row["data"] for row in rows if row["type"] == "function"}
assert [r["data"]["self_ns"] for r in rows if r["type"] == "function"] == sorted((d["self_ns"] for d in of.values()), reverse=True)
for d in of.values():
    assert 0 <= d["min_ns"] <= d["mean_ns"] <= d["max_ns"] and d["self_ns"] <= d["total_ns"] + 1, d
assert of["pauses"]["total_ns"] == of["pauses"]["self_ns"] >= 20e6
assert of["main"]["total_ns"] >= of["pauses"]["total_ns"] > of["main"]["total_ns"] - of["main"]["self_ns"] - 1
# A recursion's time counts once in its total, and each call's in its mean.
assert of["fib"]["total_ns"] <= of["thread"]["total_ns"] and of["fib"]["mean_ns"] * of["fib"]["calls"] > of["fib"]["total_ns"]
assert abs(of["fib"]["self_ns"] + of["leaf"]["self_ns"] - of["fib"]["total_ns"]) < of["leaf"]["self_ns"] / of["leaf"]["calls"] * 3 + of["leaf"]["max_ns"] * 3
END_OF_PYTHON

# The trace: entries and exits alike but for the calls that were left, and between them each thread's are nested.
babeltrace2 trace >text 2>errors || fail "babeltrace2: $(cat errors)"
cat >nested.py <<'END_OF_PYTHON'
import collections, re, sys
stacks, left, entries = collections.defaultdict(list), 0, collections.Counter()
for line in open(sys.argv[1]):
    kind, name, tid = re.search(r"\) (uprobe|uretprobe):(.*): \{ pid = \d+, tid = (\d+),", line).groups()
    stack = stacks[tid]
    if kind == "uprobe":
        entries[name] += 1
        stack.append(name)
        continue
    while stack.pop() != name: # fails where no such call is open
        left += 1
print(left + sum(map(len, stacks.values())), *(f"{name}={entries[name]}" for name in sys.argv[2:]))
END_OF_PYTHON
expect "the trace" "$(python3 nested.py text fib leaf throws jumps pauses ends)" \
    "23 $(for f in fib leaf throws jumps pauses ends; do sed -n "s/^$f /$f=/p" wanted; done | xargs)"

# Chrome's format: slices that are nested, and names.
fastsdt-trace export trace -o trace.json 2>err || fail "export: $(cat err)"
grep -q '^fastsdt-trace: 23 calls did not return' err || fail "export: $(cat err)"
python3 - <<'END_OF_PYTHON' || fail "export: $(tail -3 trace.json)"
import collections, json
trace = json.load(open("trace.json"))
stacks, begun, last = collections.defaultdict(list), collections.Counter(), {}
named = {e["tid"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name" and e["args"]["name"] == "calls"}
for e in trace["traceEvents"]:
    if e["ph"] not in "BE":
        continue
    assert e["ts"] >= last.get(e["tid"], 0)
    last[e["tid"]] = e["ts"]
    if e["ph"] == "B":
        stacks[e["tid"]].append(e["name"])
        begun[e["name"]] += 1
    else:
        assert stacks[e["tid"]].pop() == e["name"]
assert not any(stacks.values()) and named == set(stacks) and len(named) == 4
for line in open("wanted"):
    name, count = line.split()
    assert begun[name] == int(count)
END_OF_PYTHON

# OpenTelemetry's spans: the same calls, each within the one that made it. Its times are whole, Chrome's begin at 0.
fastsdt-trace export trace -o trace.otlp.json 2>err || fail "export: $(cat err)"
python3 - <<'END_OF_PYTHON' || fail "export: $(tail -3 trace.otlp.json | cut -c 1-300)"
import collections, json
chrome = json.load(open("trace.json"))
began = int(chrome["otherData"]["begin, ns since 1970"])
def ns(ts):
    whole, _, part = repr(ts).partition(".")
    return began + 1000 * int(whole) + int(part.ljust(3, "0")[:3] or 0)
calls, open_ = collections.Counter(), collections.defaultdict(list) # (thread, name, begin, end, the call around it)
for e in json.load(open("trace.json"), parse_float=lambda text: type("Text", (), {"__repr__": lambda self, text=text: text})())["traceEvents"]:
    if e["ph"] == "B":
        open_[e["tid"]].append((e["name"], ns(e["ts"])))
    elif e["ph"] == "E":
        name, begin = open_[e["tid"]].pop()
        calls[e["tid"], name, begin, ns(e["ts"]), open_[e["tid"]][-1] if open_[e["tid"]] else None] += 1
spans, seen = {}, collections.Counter()
for resource in json.load(open("trace.otlp.json"))["resourceSpans"]:
    assert {"key": "service.name", "value": {"stringValue": "calls"}} in resource["resource"]["attributes"]
    for span in resource["scopeSpans"][0]["spans"]:
        assert len(bytes.fromhex(span["traceId"])) == 16 and len(bytes.fromhex(span["spanId"])) == 8
        assert span["spanId"] not in spans, "an identity twice"
        spans[span["spanId"]] = span
for span in spans.values():
    parent = spans[span["parentSpanId"]] if "parentSpanId" in span else None
    assert parent is None or parent["traceId"] == span["traceId"]
    thread = int(next(a["value"]["intValue"] for a in span["attributes"] if a["key"] == "thread.id"))
    seen[thread, span["name"], int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]),
         (parent["name"], int(parent["startTimeUnixNano"])) if parent else None] += 1
assert sum(seen.values()) > 1000 and seen == calls, (seen - calls, calls - seen)
END_OF_PYTHON

# Perfetto's: read with the numbers of its .proto files, and by its trace processor where there is one.
fastsdt-trace export trace -o trace.pftrace 2>err || fail "export: $(cat err)"
python3 - <<'END_OF_PYTHON' || fail "export: trace.pftrace"
import collections
def fields(data):
    at = 0
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value
    found = collections.defaultdict(list)
    while at < len(data):
        key = varint()
        if key & 7 == 2:
            size = varint()
            assert at + size <= len(data)
            found[key >> 3].append(data[at:at + size])
            at += size
        else:
            assert key & 7 == 0
            found[key >> 3].append(varint())
    return found
begun, open_, names, tracks = collections.Counter(), collections.Counter(), {}, set()
for packet in map(fields, fields(open("trace.pftrace", "rb").read())[1]):
    sequence = packet[10][0]
    for interned in map(fields, packet[12]):
        for name in map(fields, interned[2]):
            names[sequence, name[1][0]] = name[2][0].decode()
    for descriptor in map(fields, packet[60]):
        tracks.add(descriptor[1][0])
    for event in map(fields, packet[11]):
        if event[9][0] == 1:
            begun[names[sequence, event[10][0]]] += 1
        open_[sequence] += 1 if event[9][0] == 1 else -1
assert len(tracks) == 5 and not any(open_.values())
for line in open("wanted"):
    name, count = line.split()
    assert begun[name] == int(count)
END_OF_PYTHON

# What is no trace of ours.
mkdir other
echo '/* CTF 1.8 */' >other/metadata
status=0
fastsdt-trace export other -o other.json 2>err || status=$?
expect "no trace of ours" "$status $(cat err)$(ls other.json 2>/dev/null)" \
    "2 fastsdt-trace: other/metadata: that is no trace that fastsdt-trace record wrote; babeltrace2 may read it"
# Damaged: a sentence, or another number of events, and no crash.
python3 - <<'END_OF_PYTHON'
import os, random, shutil, subprocess
random.seed(5)
for i in range(40):
    shutil.rmtree("damaged", ignore_errors=True)
    shutil.copytree("trace", "damaged")
    name = random.choice(["metadata", "stream_0", "stream_1"])
    data = bytearray(open("damaged/" + name, "rb").read())
    for _ in range(random.choice([1, 3, 30])):
        data[random.randrange(len(data))] = random.choice([0, 255, random.randrange(256)])
    open("damaged/" + name, "wb").write(data[:random.choice([len(data), random.randrange(len(data))])])
    done = subprocess.run(["fastsdt-trace", "export", "damaged", "-o", random.choice(["d.json", "d.pftrace"])], capture_output=True, text=True)
    assert done.returncode in (0, 1, 2) and done.stderr.count("\n") <= 4, done
END_OF_PYTHON

# A disk that is full: it is said at last, the program goes on to its end, and nothing stays under the name.
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=16k none small 2>/dev/null; then
    trap 'umount small' EXIT
    status=0
    fastsdt-trace record --functions '*' -o small/trace -- ./calls >out 2>err || status=$?
    expect "a full disk: status" "$status $(tail -n 1 err)" "2 fastsdt-trace: small/trace: no trace can be written: No space left on device"
    expect "a full disk: what is there" "$(ls small)" ""
    diff wanted <(grep -E '^(fib|leaf|throws|jumps|pauses|ends) [0-9]+$' out | sort) || fail "a full disk: the program did not end: $(cat out)"
fi
