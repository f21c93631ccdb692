#!/bin/bash
# Programs that were built without fastsdt: functions' entries and exits, and sites of one byte. Their instructions move into stubs.
# What is counted, bpftrace and the program's own arithmetic say.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc g++ setpriv python3 strip
need_attachable
user_folder
mkfifo second
chown 65534:65534 . second 2>/dev/null || true
cp "$FASTSDT_SOURCE/tests/engine/unmodified.cpp" app.cpp
g++ -O2 -g -fcf-protection=none app.cpp -o app
g++ -O2 -g -fcf-protection=full -no-pie app.cpp -o fixed
g++ -O0 app.cpp -o slow
g++ -O2 -static app.cpp -o small

counts='uprobe:./APP:leaf { @leaf = count(); @a = sum(arg0); } uprobe:./APP:calls { @calls = count(); } uprobe:./APP:branches { @branches = count(); }
    uprobe:./APP:throws { @throws = count(); } uprobe:./APP:jumps { @jumps = count(); } uprobe:./APP:loads { @loads = count(); }
    uretprobe:./APP:calls { @returns = count(); @r = sum(retval); } usdt:./APP:old:one { @old = sum(arg0); }'
# 600 turns: calls(n % 5) is called (n % 5) + 1 times, and leaf() by it n % 5 times, by branches() for a third, by work() once.
wanted='@branches: 600
@calls: 1800
@jumps: 600
@leaf: 2000
@loads: 600
@old: 179700
@returns: 1800
@throws: 600'
for app in app fixed slow small; do
    script=${counts//APP/$app} these=$wanted
    if [ $app = slow ]; then # the return of calls() is jumped to, and too short by itself
        script=$(sed '/uretprobe/s/uretprobe:[^}]*}//' <<<"$script")
        these=$(grep -v returns <<<"$wanted")
    fi
    ./$app 600 2>plain
    fastsdt-trace --engine user -e "$script" -- ./$app 600 >out 2>err || fail "$app: $(cat out err)"
    expect "$app: the program" "$(head -1 err)" "$(cat plain)"
    expect "$app" "$(grep -vE '^@[ar]:' <out | grep '^@' | sort)" "$these"
    grep -qE '^sites ([0-9]+) of \1 armed; dropped 0$' out || fail "$app: $(cat out)"
    if have bpftrace && [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
        # It throws exceptions, so bpftrace gets no return probe.
        all_engines -e "$(sed '/uretprobe/s/uretprobe:[^}]*}//' <<<"$script")" -- ./$app 600
    fi
done

# A pattern means the functions that can be armed, and says how many others fit. One that is named has to be armed.
fastsdt-trace --engine user -e 'uprobe:./app:* { @[func] = count(); }' -- ./app 600 >out 2>err || fail "a pattern: $(cat out err)"
grep -qE '^sites ([0-9]+) of \1 armed; dropped 0; left out [1-9]' out || fail "a pattern: $(cat out)"
grep -qE '^fastsdt-trace: [0-9]+ entries and exits of functions are not armed: .*has no caller' err || fail "a pattern: $(cat err)"
grep -q '^@\[calls\]: 1800$' out || fail "a pattern: $(cat out)"
for name in _start '_star*'; do
    status=0
    fastsdt-trace --engine user -e "uprobe:./app:$name { @ = count(); }" -- ./app 6 >out 2>err || status=$?
    expect "$name: status" "$status" 1
done

# What a stripped file does not export has no name.
strip -o stripped app
status=0
fastsdt-trace --engine user -e 'uprobe:./stripped:leaf { @ = count(); }' -- ./stripped 6 >out 2>err || status=$?
expect "stripped: status" "$status" 2
id=$(readelf -n stripped | sed -n 's/.*Build ID: //p')
grep -q "uprobe:./stripped:leaf: $PWD/stripped is stripped, and no debug file of it was found${id:+ for its build id $id} (--debug-dir, --debuginfod)$" err ||
    fail "stripped: $(cat err)"

# A table of the program's own functions, not of all libraries'.
fastsdt-trace functions -- ./app 600 >out 2>err || fail "functions: $(cat out err)"
expect "functions" "$(awk '$NF == "calls" || $NF == "leaf" || $NF == "malloc" { print $1, $NF }' out | sort)" "1800 calls
2000 leaf"

# Not where it is not wanted.
status=0
fastsdt-trace --engine user --no-move -e 'uprobe:./app:leaf { @ = count(); }' -- ./app 6 >out 2>err || status=$?
expect "--no-move: status" "$status" 1
grep -q 'nothing matche[sd] uprobe:./app:leaf: .*; without --no-move others are armed' err || fail "--no-move: $(cat out err)"

status=0
fastsdt-trace --engine user -e 'uprobe:./app:loads, uprobe:./app:leaf { @[func] = count(); }' -- ./app 6 handler >out 2>err || status=$?
# It was not there yet when the program began. If a look finds it before the end, a tenth of a second later, what may fault is put back.
[ "$status" = 0 ] || grep -q 'SIGSEGV' out err || fail "a handler: status $status: $(cat out err)"
driven ./app 6 lines
# As it was: text, mappings and their rights.
maps() { grep -vE '\[(heap|stack)\]' "/proc/$pid/maps" | sed 's/^\([^ ]*\) \([^ ]*\) .* /\1 \2 /' >"$1"; }
did
text >text.before
maps maps.before
attach "${counts//APP/app}"
grep -q "rwxp.*/app$" "/proc/$pid/maps" || fail "the text is not guarded: $(cat "/proc/$pid/maps")"
did
did
kill -INT $tracer
report
expect "attached: status" "$status" 0
expect "attached" "$(grep '^@calls' maps)" '@calls: 32'
text | cmp - text.before || fail "attached: the text has changed"
maps maps.after
diff maps.before maps.after || fail "attached: the mappings have changed"

# A tracer that is killed leaves jumps that go on; the next one clears them away.
attach "${counts//APP/app}"
kill -KILL $tracer
wait $tracer || true
exec 5<&- # with what it may have printed since
did
attach 'uprobe:./app:leaf { @ = count(); }'
did
kill -INT $tracer
report
expect "after a killed one" "$(grep '^@: ' maps)" '@: 18'
text | cmp - text.before || fail "after a killed one: the text has changed"
maps maps.after
diff maps.before maps.after || fail "after a killed one: the mappings have changed"

# Two tracers of functions that share a page: the guard stays as long as one needs it.
"${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
    -e 'interval:ms:10 { printf("armed\n"); } uprobe:./app:branches { @ = count(); }' >second 2>err2 3>&- 4<&- &
second=$!
exec 6<second
read -r line <&6
expect "the second tracer" "$line" armed
attach 'uprobe:./app:leaf { @ = count(); }'
did
kill -INT $tracer
report
expect "the first of two" "$(grep '^@: ' maps)" '@: 18'
grep -q "rwxp.*/app$" "/proc/$pid/maps" || fail "the second tracer's functions are not guarded"
did
kill -INT $second
grep -v '^armed$' <&6 >maps || true
wait $second || fail "the second tracer: $(cat err2)"
expect "the second of two" "$(grep '^@: ' maps)" '@: 12'
text | cmp - text.before || fail "two tracers: the text has changed"
maps maps.after
diff maps.before maps.after || fail "two tracers: the mappings have changed"

# The kernel steps over a probed instruction as the file has it. So its probes have to stay away from jumps that replace several.
if have bpftrace && [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    attach 'uprobe:./app:calls { @ = count(); }'
    timeout 60 bpftrace -e 'BEGIN { printf("attached\n"); } uprobe:./app:calls { @ = count(); }' -p "$pid" >kernel.out 2>&1 3>&- 4<&- &
    kernel=$!
    until grep -q '^attached$' kernel.out || ! kill -0 $kernel 2>/dev/null; do :; done
    did
    kill -INT $kernel
    wait $kernel || true
    kill -INT $tracer
    report
    expect "beside the kernel's probe" "$(grep '^@: ' maps)" '@: 16'
    text | cmp - text.before || fail "beside the kernel's probe: the text has changed"
fi
exec 3>&-
wait "$pid" || fail "the program failed"

# A handler for faults would see a stub's address: what can fault stays.
rm in answers report
driven ./app 6 handler-lines
did
status=0
"${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
    -e 'interval:ms:1 { exit(); } uprobe:./app:loads, uprobe:./app:leaf { @[func] = count(); }' >out 2>err 3>&- 4<&- || status=$?
expect "a handler: status" "$status" 1
grep -qx 'sites 1 of 2 armed (1 has no nop10, and its code accesses memory, and the process handles SIGSEGV or SIGBUS); dropped 0' out ||
    fail "a handler: $(cat out err)"
grep -q -- '--move-faulting arms also code that may raise what the process handles: SIG' err || fail "a handler: $(cat err)"
"${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
    -e 'interval:ms:1 { exit(); } uprobe:./app:l*s { @[func] = count(); }' >out 2>err 3>&- 4<&- || true
grep -q 'the code accesses memory, and the process handles SIGSEGV or SIGBUS (1)' err || fail "a handler and a pattern: $(cat out err)"
exec 3>&-
wait "$pid" || fail "the program with a handler failed"

# Forked children.
fastsdt-trace --engine user -e 'uprobe:./app:leaf { @[pid] = count(); }' -- ./app 600 fork >out 2>err || fail "fork: $(cat out err)"
expect "fork" "$(sed -n 's/^@.*: //p' out | xargs)" "2000 4000" # the parent works twice

# All functions of a library in a program as it is installed: the same output.
cat >primes.py <<'END'
import json, re, threading
def work(n): return [p for p in range(2, n) if all(p % d for d in range(2, p))]
threads = [threading.Thread(target=work, args=(300,)) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(len(json.dumps(work(400))), re.sub('1+', 'x', str(work(100))))
END
python=$(readlink -f "$(command -v python3)")
[ "$(head -c 2 "$python")" != '#!' ] || python=/usr/bin/python3
"$python" primes.py >plain
fastsdt-trace --engine user -e "uprobe:$(readlink -f "$python"):*, uprobe:libc.so.6:* { @ = count(); }" -- "$python" primes.py >out 2>err ||
    [ $? = 1 ] || fail "python: $(cat out err)"
expect "python" "$(head -1 out)" "$(cat plain)"
read -r armed sites < <(sed -n 's/^sites \([0-9]*\) of \([0-9]*\) armed.*/\1 \2/p' out)
[ $((armed * 100)) -gt $((sites * 95)) ] || fail "python: $(cat out)"
