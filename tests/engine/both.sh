#!/bin/bash
# --engine auto where stubs can have some of the sites: the kernel's engine has the others, and the report has both.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_uprobes
cat >app.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* A loop begins behind the first byte: no jump can take the place of these instructions. */
void turns(unsigned long n, const char *name);
__asm__(".text\n.globl turns\n.type turns,@function\nturns:\n.cfi_startproc\n"
        "nop\n1: dec %rdi\n\tjnz 1b\n\tret\n.cfi_endproc\n.size turns,.-turns\n");
__attribute__((noinline)) void work(unsigned long n, const char *name)
{
    __asm__ volatile("" : : "r"(n), "r"(name) : "memory");
}
static void once(unsigned long i)
{
    static const char *const names[] = {"even", "odd, that is"};
    work(i, names[i % 2]);
    if (i % 3 == 0)
        turns(i + 1, names[i % 2]);
    FASTSDT(t, twice, i);
    /* A second site of the probe, as other headers make it: jumps lead to its nop and behind it. */
    unsigned long left = 3;
    __asm__ volatile("jmp 1f\n"
                     "ud2\n"
                     "1: nop\n"
                     "6: dec %0\n"
                     "jnz 6b\n"
                     ".pushsection .note.stapsdt,\"\",\"note\"\n"
                     ".balign 4\n"
                     ".4byte 3f-2f, 5f-4f, 3\n"
                     "2: .asciz \"stapsdt\"\n"
                     "3: .balign 4\n"
                     "4: .8byte 1b, 0, 0\n"
                     ".asciz \"t\"\n"
                     ".asciz \"twice\"\n"
                     ".asciz \"8@%1\"\n"
                     "5: .balign 4\n"
                     ".popsection"
                     : "+r"(left)
                     : "b"(i));
}
int main(int argc, char **argv)
{
    unsigned long n = strtoul(argv[1], 0, 10), i;
    char line[8];
    if (argc > 2 && fork() == 0) {
        for (i = 0; i < n; ++i)
            once(i);
        return 0;
    }
    wait(0);
    for (i = 0; i < n; ++i)
        once(i);
    while (fgets(line, sizeof line, stdin)) {
        once(3);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" app.c -o app
trace() { status=0; timeout 120 fastsdt-trace "$@" >out 2>err </dev/null || status=$?; }
taken='fastsdt-trace: engine user, and kernel where it cannot: sites 1 of 2 armed (1 has no nop10, and its code has a jump target inside the bytes that would be replaced); dropped 0'
sites='uprobe:./app:work, uprobe:./app:turns'

# Every kind of map, by every kind of key: what the program does is what comes out.
cat >expected.py <<'END_OF_PYTHON'
import json, sys
n = 1000
work = list(range(n))
turns = [i + 1 for i in work if i % 3 == 0]
both = work + turns
name = lambda i: ["even", "odd, that is"][i % 2]
tally = lambda keys: {k: keys.count(k) for k in set(keys)}
def hist(values):
    buckets = {}
    for v in values:
        low, high = (0, 0) if v == 0 else (1 << v.bit_length() - 1, (1 << v.bit_length()) - 1)
        buckets[low, high] = buckets.get((low, high), 0) + 1
    return [{"min": low, "max": high, "count": c} for (low, high), c in sorted(buckets.items())]
def lhist(values, low, high, step):
    buckets = {}
    for v in values:
        at = low + (v - low) // step * step
        key = ("min", high) if v >= high else ("max", at + step - 1, at)
        buckets[key] = buckets.get(key, 0) + 1
    return buckets
expected = {
    "@count": {"work": len(work), "turns": len(turns)},
    "@probe": {"uprobe:./app:work": len(work), "uprobe:./app:turns": len(turns)},
    "@name": tally([name(i) for i in work] + [name(i - 1) for i in turns]),
    "@three": {f"{f},{s},{r}": c for (f, s, r), c in tally([("work", name(i), i % 5) for i in work] + [("turns", name(i - 1), i % 5) for i in turns]).items()},
    "@sum": sum(both), "@added": sum(both), "@n": len(both), "@min": min(both), "@max": max(both),
    "@avg": sum(both) // len(both),
    "@stats": {"count": len(both), "average": sum(both) // len(both), "total": sum(both)},
    "@hist": hist(both),
    "@few": len([i for i in both if i < 10]),
}
seen = {}
for line in sys.stdin:
    if line.startswith('{"type": "') and '"data": {"@' in line:
        seen |= json.loads(line)["data"]
linear = {("min", b["min"]) if "max" not in b else ("max", b["max"], b["min"]): b["count"] for b in seen.pop("@linear")}
expected_linear = lhist(both, 0, 800, 100)
# Buckets between others are printed though they are empty.
if {k: c for k, c in linear.items() if c} != expected_linear:
    sys.exit(f"@linear: {linear}, and not {expected_linear}")
for name in {*seen, *expected}:
    if seen.get(name) != expected.get(name):
        sys.exit(f"{name}: {seen.get(name)}, and not {expected.get(name)}")
END_OF_PYTHON
script="$sites { // a comment with func, probe and avg(
    @count[func] = count(); @probe[probe] = count(); @name[str(arg1)] = count(); @three[func, str(arg1), arg0 % 5] = count();
    @sum = sum(arg0); @added += arg0; @n++; @min = min(arg0); @max = max(arg0); @avg = avg(arg0); @stats = stats(arg0);
    @hist = hist(arg0); @linear = lhist(arg0, 0, 800, 100); \$small = arg0 < 10; if (\$small) { @few = count(); } }"
trace --json -e "$script" -- ./app 1000
expect "JSON: $(cat err)" "$status" 0
grep -qxF "$taken" err || fail "JSON: $(cat err)"
python3 -B expected.py <out || fail "JSON: $(cat out)"
grep -q '"sites": 2, "armed": 2, "by_kernel": 1, ' out || fail "JSON: $(cat out)"
# A filter, a parameter, and one clause of each engine.
trace -e "$sites /arg0 < \$1/ { @[func] = sum(arg0); } uprobe:./app:turns { @turns = count(); } uprobe:./app:work { @work = count(); }" 10 \
    -- ./app 1000
expect "a filter: $(cat err)" "$status $(grep . out)" "0 @[turns]: 12
@[work]: 45
@turns: 334
@work: 1000
sites 2 of 2 armed (1 by the kernel); dropped 0"

# Of a probe with two sites each engine has one.
trace -e 'usdt:./app:t:twice { @twice = sum(arg0); } uprobe:./app:work { @work = count(); }' -- ./app 1000
expect "two sites of a probe: $(cat err)" "$status $(grep . out)" "0 @twice: 999000
@work: 1000
sites 3 of 3 armed (1 by the kernel); dropped 0"
# Events of both come in the order of time.
trace -e "$sites { printf(\"%s %d\\n\", func, arg0); }" -- ./app 4
expect "events: $(cat err)" "$status $(grep . out)" "0 work 0
turns 1
work 1
work 2
work 3
turns 4
sites 2 of 2 armed (1 by the kernel); dropped 0"
# What the tool assigns, both read.
trace -e "BEGIN { @from = 2; } $sites /arg0 >= @from/ { @ = count(); }" -- ./app 4
expect "assigned: $(cat err)" "$status $(grep . out)" "0 @: 3
@from: 2
sites 2 of 2 armed (1 by the kernel); dropped 0"

# What cannot be added up is one engine's.
for action in '@last = arg0;' '@n++; @m[@n > 3] = count();' '@[tid] = nsecs; delete(@[tid]);'; do
    trace -e "$sites { $action }" -- ./app 3
    expect "$action: $(cat err)" "$status" 0
    grep -q '^fastsdt-trace: engine kernel: sites 1 of 2 armed ' err || fail "$action: $(cat err)"
done

# A running process, asked in between. Afterwards it has the file's text, and nobody counts.
rm -f in answers report # of a former run
driven ./app 3 # its work of 3 is done by the first answer
did
text >text.before
start_tracer fastsdt-trace -p "$pid" -e "interval:ms:10 { printf(\"armed\\n\"); } $sites { @[func] = count(); }"
did
kill -USR1 $tracer
asked=
until read -r line <&5 && [[ $line = sites* ]]; do [ "$line" = armed ] || [ -z "$line" ] || asked+="$line "; done
expect "asked in between" "$(xargs -n 2 <<<"$asked" | sort | xargs)" "@[turns]: 1 @[work]: 1"
did
did
kill -INT $tracer
report
expect "a running process: $(cat err)" "$status $(grep . maps | sort)" "0 @[turns]: 3
@[work]: 3
sites 2 of 2 armed (1 by the kernel); dropped 0"
did
text >text.after
cmp text.before text.after || fail "the text is not as before"
# It ends, and so do the kernel's probes: no uprobe is left behind a tracer that is killed.
start_tracer fastsdt-trace -p "$pid" -e "interval:ms:10 { printf(\"armed\\n\"); } $sites { @[func] = count(); }"
expect "a uprobe" "$(bytes_of turns | cut -c1-2)" cc
kill -KILL $tracer
wait $tracer || true
until [ "$(bytes_of turns | cut -c1-2)" = 90 ]; do :; done
did
exec 3>&- 4<&-
wait "$pid"

# What is forked counts on both.
trace -e "$sites { @[func] = count(); }" -- ./app 300 fork
expect "fork: $(cat err)" "$status $(grep . out)" "0 @[turns]: 200
@[work]: 600
sites 2 of 2 armed (1 by the kernel); dropped 0; followed 1"
