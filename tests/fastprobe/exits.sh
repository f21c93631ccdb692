#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Live: exits hit = entries hit in every function, but for the activations that longjmp(), an exception or exit() ends, whose
# number the program's source says. Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
plugin=$3 cc=$4 cxx=$5 lto=-flto
[ "$1" = gcc ] || lto+=" -fuse-ld=lld -B$(dirname "${cxx%% *}") -Wl,-mllvm,-load=${plugin%.so}-pass.so"
need_uprobes
need "${cxx%% *}" readelf objdump python3
[ -e "$plugin" ] || skip "$plugin was not built"
tracing=/sys/kernel/tracing
[ -e $tracing/uprobe_events ] || mount -t tracefs tracefs $tracing 2>/dev/null || true
[ -e $tracing/uprobe_events ] || skip "no tracefs with uprobe_events"

cat >leaving.cpp <<'E'
#include <setjmp.h>
#include <stdlib.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#define PLAIN extern "C" __attribute__((noinline, noipa))
volatile int sink;
PLAIN int leaf(int a) { return a * 3; }
PLAIN int tail(int a) { return leaf(a + 1); }
PLAIN int even(unsigned n); // a tail call into each other
PLAIN int odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }
PLAIN int even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
PLAIN long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
PLAIN int shrink(int a) { if (a < 3) return a; int s = 0; for (int i = 0; i < a; i++) s += leaf(i) + tail(s); return s; }
PLAIN int switched(int a) {
    switch (a) { case 0: return 7; case 1: return leaf(a); case 2: sink = 1; return tail(2); case 3: return shrink(a) + 1;
                 case 4: sink = 3; return 9; case 5: return odd(4); default: return -1; }
}
PLAIN __attribute__((cold)) void complain(int a) { sink = a; }
PLAIN int split(int a) {
    if (__builtin_expect(a > 5, 0)) { complain(a); std::string s(a, 'x'); complain(a + 1); return s.size() + leaf(a); }
    return leaf(a) * leaf(a + 1);
}
static jmp_buf place;
PLAIN int jump_deep(int n) { if (n == 0) longjmp(place, 1); int r = jump_deep(n - 1); sink = r; return r + 1; }
PLAIN int jumped(int n) { if (setjmp(place) == 0) return n ? jump_deep(n) : 5; return leaf(2); }
struct Guard { ~Guard() { leaf(1); } };
PLAIN int throw_deep(int n) { Guard guard; if (n == 0) throw std::runtime_error("gone"); int r = throw_deep(n - 1); sink = r; return r + 1; }
PLAIN int thrown(int n) { try { return throw_deep(n); } catch (const std::runtime_error&) { return leaf(3); } }
PLAIN void* thread(void* p) { for (int i = 0; i < 50; i++) fib(i % 7), switched(i % 7); return p; }
PLAIN void gone(int n) { if (n) { gone(n - 1); sink = n; } else exit(0); sink = 1; }
int main() {
    for (int i = 0; i < 10; i++) sink = leaf(i) + tail(i) + even(i) + odd(i) + shrink(i) + switched(i) + split(i);
    sink = fib(12);
    for (int i = 0; i < 4; i++) jumped(i); // 3 jumps, over 2 + 3 + 4 of jump_deep()
    for (int i = 0; i < 4; i++) thrown(i); // 4 exceptions, through 1 + 2 + 3 + 4 of throw_deep()
    pthread_t threads[3];
    for (pthread_t& t : threads) pthread_create(&t, nullptr, thread, nullptr);
    for (pthread_t& t : threads) pthread_join(t, nullptr);
    gone(2); // 3 of it are alive at the end, and main()
    return 1;
}
E
for flags in "-O2 exit=nop10" "-O0 exit=nop" "-O2 $lto exit=nop10"; do
    $cxx -w ${flags% *} -fplugin="$plugin" -fplugin-arg-fastprobe-"${flags##* }" leaving.cpp -o leaving -pthread
    python3 "$FASTSDT_SOURCE/tests/fastprobe/entries.py" --check-exits leaving
    python3 "$FASTSDT_SOURCE/tests/fastprobe/pairs.py" --trace --left jump_deep=9 --left throw_deep=10 --left gone=3 --left main=1 leaving \
        -- ./leaving >out ||
        { cat out; fail "$flags"; }
    grep -q "pairs; left behind: {'jump_deep': 9, 'throw_deep': 10}; alive at the end: {'gone': 3, 'main': 1}" out || fail "$flags: $(cat out)"
    echo "$flags: $(head -n 1 out)"
done
# ---- What our programs say and print ----
export PATH=$FASTSDT_BUILD/bin:$PATH
if have fastsdt-probe; then
    $cc -O2 -fplugin="$plugin" -fplugin-arg-fastprobe-exit=nop10 "$FASTSDT_SOURCE/examples/entry.c" -o e
    fastsdt-check --functions e >report
    grep -q '  5 exits of 5 functions: ' report || fail "fastsdt-check --functions: $(cat report)"
    # What the program does, by its source: 1000 requests of 3 calls of mix() each.
    fastsdt-probe --entry '*' --exit '*' --json --output hits.json e >/dev/null
    python3 - <<'P'
import collections, json
hits = collections.Counter()
for target in json.load(open("hits.json"))["targets"]:
    hits[target["kind"], target["name"].split()[0]] += target["hits"]
want = {"main": 1, "mix": 3000, "chain": 1000, "show": 1, "request": 1000}
assert hits == {(kind, name): n for name, n in want.items() for kind in ("entry", "exit")}, hits
P
    cat >rec.c <<'E'
#include <unistd.h>
__attribute__((noinline, noipa)) int rec(int n) { if (n == 0) { usleep(20000); return -7; } int r = rec(n - 1); __asm__("" : "+r"(r)); return r - 1; }
int main(int argc, char** argv) { if (argc > 1) sleep(30); for (int i = 0; i < 3; i++) rec(2); return 0; }
E
    $cc -O2 -fplugin="$plugin" -fplugin-arg-fastprobe-exit=nop10 -fplugin-arg-fastprobe-include='^rec$' rec.c -o rec
    cp rec recs && strip recs # bpftrace without a disassembler attaches inside functions of stripped files only
    fastsdt-check --plan --json --kernel "$(uname -r | cut -d. -f1,2)" recs >plan.json
    printed() { python3 -c "import json; print(next(x['exits_$1'] for x in json.load(open('plan.json'))['files'][0]['plan'] if 'exits' in x))"; }
    # rec(2) returns -9 after rec(1), -8, and rec(0), -7, which takes 20 ms or more: so do the others.
    values="-7 -8 -9 -7 -8 -9 -7 -8 -9"
    if have bpftrace; then
        echo "$(printed bpftrace) -c $PWD/recs" >program
        timeout 120 bash program >out 2>err || fail "bpftrace: $(cat err)"
        expect "bpftrace: results" "$(sed -n 's/.* = \(-[0-9]*\), [0-9]* ns$/\1/p' out | xargs)" "$values"
        sed -n 's/.*, \([0-9]*\) ns$/\1/p' out | awk '$1 < 20000000 || $1 > 20000000000 { bad = 1 } END { exit bad }' ||
            fail "bpftrace: latencies: $(cat out)"
    else
        echo "no bpftrace: its program was not run"
    fi
    if perf_records; then
        echo "$(printed perf) -o perf.data $PWD/recs" >program
        timeout 120 bash program >err 2>&1 || fail "perf: $(cat err)"
        perf script -i perf.data 2>/dev/null >out || true
        sed -n 's/^p:\(fastprobe\/[^ ]*\) [^ ]*\/recs:.*/-:\1/p' $tracing/uprobe_events | sort -u |
            while read -r line; do echo "$line" >>$tracing/uprobe_events; done # several places may have one name
        expect "perf: results" "$(sed -n 's/.*_return: .* value=\(-[0-9]*\)$/\1/p' out | xargs)" "$values"
        expect "perf: entries" "$(grep -c '_entry: ' out)" 9
    else
        echo "its command was not run"
    fi
    ./rec wait & process=$!
    while [ "$(readlink /proc/$process/exe)" != "$PWD/rec" ]; do kill -0 $process || fail "rec is gone"; done
    fastsdt-check --functions --pid $process >report
    kill $process
    grep -q 'rec (exit)  0x[0-9a-f]*  nop1+nop10  untouched' report || fail "--pid: $(cat report)"
fi

# ---- Debuggers: stepping and finish are what they are without exits ----
if have gdb; then
    cat >steps.c <<'E'
volatile int sink;
__attribute__((noinline, noipa)) int leaf(int a) {
    int b = a * 3;
    return b + 1;
}
__attribute__((noinline, noipa)) int branchy(int a) {
    if (a == 1)
        return leaf(a);
    if (a == 2) {
        sink = 1;
        return 7;
    }
    int r = leaf(a);
    return r + leaf(r);
}
int main(void) {
    for (int i = 1; i < 4; i++)
        sink += branchy(i);
    return 0;
}
E
    cat >steps.py <<'E'
import gdb
for command in ("set pagination off", "break main", "run"):
    gdb.execute(command, to_string=True)
lines = []
while gdb.newest_frame().name() in ("main", "leaf", "branchy"):
    lines.append("%s:%d" % (gdb.newest_frame().name(), gdb.newest_frame().find_sal().line))
    gdb.execute("step", to_string=True)
print("STEPS", *lines)
for command in ("kill", "delete", "break leaf", "run"):
    gdb.execute(command, to_string=True)
for _ in range(3):
    point = gdb.FinishBreakpoint(gdb.newest_frame(), internal=True)
    gdb.execute("continue", to_string=True)
    print("FINISH", point.return_value, gdb.newest_frame().name())
    gdb.execute("continue", to_string=True)
E
    for level in -O0 -O2; do
        for exit in none nop10; do
            $4 -w $level -g -fplugin="$plugin" -fplugin-arg-fastprobe-exit=$exit steps.c -o steps
            timeout 120 gdb -nx -batch -iex 'set debuginfod enabled off' -x steps.py ./steps 2>&1 </dev/null |
                grep '^STEPS\|^FINISH' >steps.$exit || true
        done
        grep -q '^STEPS main:' steps.none || fail "gdb at $level: $(cat steps.none)"
        [ $level = -O2 ] || expect "gdb's finish" "$(grep '^FINISH' steps.none | xargs)" "FINISH 4 branchy FINISH 10 branchy FINISH 31 branchy"
        cmp steps.none steps.nop10 || fail "gdb at $level: $(diff steps.none steps.nop10)"
    done
fi

# If it is not told of one of them, the comparison must fail.
if python3 "$FASTSDT_SOURCE/tests/fastprobe/pairs.py" --left jump_deep=9 --left throw_deep=10 --left gone=3 leaving -- ./leaving >out; then
    fail "a missing exit goes unnoticed"
fi
grep -q '^  main: 1 entries, 0 exits' out || fail "the wrong function: $(cat out)"
