#!/bin/bash
# tseries(): what was when. Python draws it as bpftrace's documentation has it; of a program's hits the sums are compared with its own.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable

# The clock is a map, as in bpftrace's own tests: it goes on by what the script adds to it.
cat >draw.py <<'END'
import json, sys, time
def text(moment, format):
    return time.strftime(format, time.localtime(moment // 1000)) + f".{moment % 1000:03d}"
def draw(name, points, last, count):
    points = {at: value for at, value in points.items() if at > last - count}
    if as_json:
        rows = [{"interval_start": text(100 * at, "%Y-%m-%d %H:%M:%S") + "000000", "value": value} for at, value in sorted(points.items())]
        name, _, key = name.partition("[")
        print(json.dumps({"type": "tseries", "data": {name: {key[:-1]: rows} if key else rows}}))
        return
    low, high = min(points.values()), max(points.values())
    if low == high:
        low, high = low - (low != 0), high + 1
    ends = " " * 13 + str(low) + str(high).rjust(53 - len(str(low)))
    print(f"{name}:\n{ends}\nhh:mm:ss.ms  |{'_' * 51}|")
    for at in range(min(points), last + 1):
        line = ["|"] + [" "] * 51 + ["|"]
        def put(value, sign):
            line[(value - low) * 52 // (high - low)] = sign
        if low < 0 < high:
            put(0, ".")
        if at in points:
            put(points[at], "*")
        print(text(100 * at, "%H:%M:%S"), "".join(line), points.get(at, "-"))
    print(" " * 13 + "v" + "_" * 51 + "v\n" + ends + "\n")
as_json = sys.argv[1:] == ["json"]
draw("@a[left]", {10 + i: abs(20 - i) - 9 for i in range(40)}, 49, 12)
draw("@avg", {50: 0, 51: 2, 52: 4}, 52, 12)
draw("@gap", {50: 0, 52: 5}, 52, 12)
draw("@max", {50: 1, 51: 3, 52: 5}, 52, 2)
draw("@min", {50: 0, 51: 2, 52: 4}, 52, 12)
draw("@one", {50: 0}, 50, 12)
draw("@sum", {50: 1, 51: 5, 52: 9}, 52, 12)
END
cat >draw.bt <<'END'
BEGIN
{
    @ts = (uint64)1000000000;
    for ($i : 0..40) {
        $v = 20 - $i;
        @a["left"] = tseries(($v < 0 ? -$v : $v) - 9, 100ms, 12);
        @ts += 100ms;
    }
    for ($i : 0..6) {
        @sum = tseries($i, 100ms, 12, "sum");
        @min = tseries($i, 100ms, 12, "min");
        @max = tseries($i, 100ms, 2, "max");
        @avg = tseries($i, 100ms, 12, "avg");
        if ($i == 0 || $i == 5) {
            @gap = tseries($i, 100ms, 12);
        }
        if ($i == 0) {
            @one = tseries($i, 100ms, 12);
        }
        @gone[$i] = tseries($i, 100ms, 12);
        @ts += 50ms;
    }
    clear(@gone);
    clear(@ts);
}
END
export BPFTRACE_DUMMY_TS_MAP=@ts
for form in text json; do
    python3 draw.py "$form" >wanted
    options=(--like 0.27)
    [ "$form" = text ] || options+=(--json)
    timeout 60 fastsdt-trace "${options[@]}" draw.bt >out 2>err || fail "$form: $(cat err)"
    grep -v 'sites' out | sed '/./,$!d; /^$/N; /^\n$/D' >printed
    sed '/./,$!d; /^$/N; /^\n$/D' wanted >wanted.less
    cmp printed wanted.less >/dev/null || fail "$form: $(diff printed wanted.less)"
done
unset BPFTRACE_DUMMY_TS_MAP
refused() {
    local status=0
    fastsdt-trace -e "$1" >out 2>err || status=$?
    expect "$1" "$status $(sed -n '1s/^-e:[0-9:]* error: //p' err)" "2 $2"
}
refused 'BEGIN { @a = tseries(1, 1s, 5, "last"); }' "an interval's values are aggregated by avg, max, min or sum"
refused 'BEGIN { @a = tseries(1, 0, 5); }' 'an interval is some nanoseconds: 100ms'
refused 'BEGIN { @a = tseries(1, 1s, 5); @a = tseries(1, 2s, 5); }' '@a has other intervals elsewhere'
refused 'BEGIN { @a = tseries(1, 1s, 5); @a[3] = 4; }' '@a is a tseries(): print(), clear() and zero() take it, and nothing else'
refused 'BEGIN { @a = tseries(1, 1s, 5); print(@a, 3); }' '@a is a tseries(), which has no top and nothing to divide'
refused 'BEGIN { @a = tseries(1, 1s, 5); print(@a[1]); }' '@a is a tseries(): print(), clear() and zero() take it, and nothing else'

# At probes: in 100 ms, intervals of 5 ms, two threads and two keys. None of it is forgotten: nothing is more than a thousand intervals old.
cat >app.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static long sums[2], last[2];
static void *run(void *number)
{
    struct timespec start, now;
    long which = (long)number, value = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        FASTSDT(app, tick, which, ++value % 100);
        sums[which] += value % 100;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 100);
    last[which] = value;
    return 0;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, run, (void *)1);
    run(0);
    pthread_join(other, 0);
    printf("%ld %ld\n", sums[0], sums[1]);
    return 0;
}
END
gcc -O2 -pthread -I"$FASTSDT_SOURCE/include" app.c -o app
engines=user
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    engines='user kernel'
fi
for engine in $engines; do
    timeout 60 fastsdt-trace --engine "$engine" --json -e 'usdt:./app:app:tick { @s[arg0] = tseries(arg1, 5ms, 1000, "sum");
        @top = tseries(arg1, 5ms, 1000, "max"); }' -- ./app >out 2>err || fail "$engine: $(cat out err)"
    python3 - out "$engine" <<'END' || fail "$engine: $(cat out err)"
import json, sys
own, maps = None, {}
for line in open(sys.argv[1]):
    if line[0] != "{":
        own = [int(word) for word in line.split()]
    elif json.loads(line)["type"] == "tseries":
        maps.update(json.loads(line)["data"])
sums = [sum(point["value"] for point in maps["@s"][key]) for key in ("0", "1")]
starts = [point["interval_start"] for point in maps["@top"]]
assert sums == own, (sums, own)
assert len(starts) > 10 and starts == sorted(starts), starts
assert all(int(start[-9:]) % 5000000 == 0 for start in starts), starts
assert all(point["value"] == 99 for point in maps["@top"][1:-1]), maps["@top"]
END
done
