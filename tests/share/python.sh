#!/bin/bash
# The tools for Python, on the python3 that is installed: what they say is what Python says of itself.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need readelf
readelf -nW "$(readlink -f /usr/bin/python3)" 2>/dev/null | matches 'Provider: python' || skip "/usr/bin/python3 has no USDT probes"
. "$FASTSDT_SOURCE/tests/share/common.sh"
python=(/usr/bin/python3 -I)

# pythoncalls: as often as a profiling function sees them return, in a run without the tool.
cat >shop.py <<'END_PY'
import collections, sys
class Shop:
    def order(self, n):
        return price(n) + sum(parts(n))
def price(n):
    return n * 2
def parts(n):
    yield n
    yield n + 1
def again(n):
    return again(n - 1) if n else 0
def work():
    for i in range(300):
        Shop().order(i)
    again(500)
seen = collections.Counter()
if len(sys.argv) > 1:
    sys.setprofile(lambda frame, event, _: seen.update([frame.f_code.co_name] if event == "return" else []))
work()
sys.setprofile(None)
for name in sorted(seen):
    print(f"{name} {seen[name]}")
END_PY
traced pythoncalls.bt -- "${python[@]}" shop.py
"${python[@]}" shop.py profiled >profile
grep -v '^work ' profile >want # of the first 30 is not what is called once
sed -n "s/^@calls\[.*shop.py, \(.*\)\]: /\1 /p" out | sort >got
expect "pythoncalls" "$(cat got)" "$(cat want)"
expect "pythoncalls: functions" "$(wc -l <want)" 4

# pythongc: the collections that Python's callbacks see, in their order, none longer than these see it take.
cat >garbage.py <<'END_PY'
import gc, time
start, lines = 0, []
def callback(phase, info):
    global start
    if phase == "start":
        start = time.monotonic_ns()
    else:
        lines.append(f"{info['generation']} {info['collected'] + info['uncollectable']} {(time.monotonic_ns() - start) / 1e6}")
gc.disable()
gc.collect()
gc.callbacks.append(callback)
for generation, n in (0, 1111), (1, 2222), (2, 3333), (2, 0), (0, 44):
    for _ in range(n):
        x = []
        x.append(x)
    del x
    gc.collect(generation)
gc.callbacks.clear()
print("\n".join(lines))
END_PY
sed -i 's/    del x/    x = None/' garbage.py
cat >garbage_check.py <<'END_PY'
import re, sys
want = [line.split() for line in open("theirs")]
got = [line.split() for line in open("out") if re.match(r"\d\d:", line)]
at = next((i for i in range(len(got)) if [[g[3], g[5]] for g in got[i:i + len(want)]] == [w[:2] for w in want]), None)
if at is None or len(want) != 5 or any(float(g[4]) > float(w[2]) for g, w in zip(got[at:], want)):
    sys.exit(f"{want}\n{got}")
END_PY
traced pythongc.bt -- "${python[@]}" garbage.py
python3 garbage_check.py || fail "pythongc"
traced pythongc.bt -- --ms=100000 -- "${python[@]}" garbage.py
expect "pythongc --ms" "$(table)" ""
# A process that runs: it collects once for each line.
cat >collects.py <<'END_PY'
import gc, sys
gc.disable()
gc.collect()
for line in sys.stdin:
    for _ in range(321):
        x = []
        x.append(x)
    x = None
    gc.collect(1)
    print("did", flush=True)
END_PY
cp "$(readlink -f /usr/bin/python3)" python3.copy
PYTHONHOME=/usr driven ./python3.copy -S -E collects.py
did
attached pythongc.bt "$pid"
did
did
detached
expect "pythongc of a process" "$(table | awk '{ print $2, $4, $6 }')" "$pid 1 321
$pid 1 321"
exec 3>&-
wait "$pid"

# pythonimports: the modules that -X importtime lists, in its order, none longer than it says.
traced pythonimports.bt -- "${python[@]}" -X importtime -c 'import json, email.message
try:
    import no_such_module
except ImportError:
    pass'
sed -n 's/^import time: *[0-9]* | *\([0-9]*\) | *\(.*\)/\1 \2/p' err >listed
table >got
expect "pythonimports" "$(awk '{ print $5 }' got)" "$(cut -d' ' -f 2 listed)"
expect "pythonimports: longer than it took" "$(paste -d' ' got listed | awk '$3 * 1000 > $6 + 1')" ""
expect "pythonimports: not found" "$(awk '$5 == "no_such_module" { print $4 }' got)" 0
matches ' 1 email.message$' <got || fail "pythonimports: $(cat got)"
