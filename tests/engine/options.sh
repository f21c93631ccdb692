#!/bin/bash
# The options: which engine is taken, what a dry run shows, how a run ends.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
user_folder
cat >two.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    for (int i = 1; i <= 10; ++i) {
        FASTSDT(t, wide, i);
        FASTSDT_WITH(nop1, none, t, narrow, i);
    }
    puts("ran");
    fflush(stdout);
    return getchar() == 'x'; /* waits for the end of the input */
}
END
gcc -O2 -I"$INCLUDE" two.c -o two
chown -R 65534:65534 . 2>/dev/null || true
trace() { # OPTIONS...: as an ordinary user; leaves status, out and err
    status=0
    "${as_user[@]}" fastsdt-trace "$@" >out 2>err </dev/null || status=$?
}

# --engine auto: user where all sites can be armed, and also where the kernel's cannot be had; then the status says incomplete.
trace -e 'usdt:./two:t:wide { @ = sum(arg0); }' -- ./two
expect "all armed: $(cat err)" "$status $(grep -v ran out)" "0 @: 55
sites 1 of 1 armed; dropped 0"
expect "all armed: messages" "$(cat err)" "fastsdt-trace: engine user: 1 of 1 sites can be armed"
trace -e 'usdt:./two:t:* { @[probe] = sum(arg0); }' -- ./two
expect "both armed" "$status $(grep -v ran out | sort | xargs)" "0 @[usdt:./two:t:narrow]: 55 @[usdt:./two:t:wide]: 55 sites 2 of 2 armed; dropped 0"
trace --no-move -e 'usdt:./two:t:* { @[probe] = sum(arg0); }' -- ./two
expect "one armed" "$status $(grep -v ran out)" "1 @[usdt:./two:t:wide]: 55
sites 1 of 2 armed (1 has no nop10); dropped 0"
grep -q '^fastsdt-trace: engine user: sites 1 of 2 armed (1 has no nop10); dropped 0; not allowed to attach uprobes ' err ||
    fail "one armed: $(cat err)"
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    fastsdt-trace --no-move -e 'usdt:./two:t:wide, usdt:./two:t:narrow { @[probe] = sum(arg0); @last = arg0; }' -- ./two >out 2>err </dev/null ||
        fail "as root: $(cat err)"
    expect "as root" "$(grep '^@' out | sort | xargs)" "@[usdt:./two:t:narrow]: 55 @[usdt:./two:t:wide]: 55 @last: 10"
    grep -q '^fastsdt-trace: engine kernel: sites 1 of 2 armed (1 has no nop10)' err || fail "as root: $(cat err)"
fi

# --help names the engine that has an option, and says whom it traces.
fastsdt-trace --help >help
matches '^Traces probes and functions of programs, those of unmodified ones too' <help || fail "--help: $(sed -n 1p help)"
matches -- "--uretprobe  *Let the kernel's engine, or bpftrace, have return probes" <help || fail "--help: $(grep -e --uretprobe help)"

# --dry-run: every site and why; the program is not run, and nothing is written into it.
trace --no-move --dry-run -e 'usdt:./two:t:* { @ = count(); }' -- ./two
expect "dry run: status" "$status" 1
expect "dry run" "$(sed -n 's/^0x[0-9a-f]*  //p' out | sort)" "usdt:./two:t:narrow  has no nop10
usdt:./two:t:wide  can be armed"
grep -q '^    [0-9a-f]*  lea -0x[0-9A-F]*(%rsp), %rsp$' out || fail "dry run: no stub: $(cat out)"
expect "dry run: the last line" "$(tail -1 out)" "1 of 2 sites can be armed"
! grep -q ran out || fail "dry run: the program was run"
trace --dry-run --json -e 'usdt:./two:t:wide { @ = count(); }' -- ./two
expect "dry run, JSON: status" "$status" 0
python3 -c 'import json
site, sites = map(json.loads, open("out"))
assert site["type"] == "site" and site["data"]["armable"] and site["data"]["arguments"].startswith("-4@"), site
assert sites == {"type": "sites", "data": {"sites": 1, "armed": 1, "by_kernel": 0, "reasons": {}, "left_out": 0, "reasons_to_leave_out": {}, "late": 0, "late_seconds": 0, "dropped": 0, "unread": 0, "lost": 0, "cut": 0, "forked": 0, "followed": 0, "processes": 0, "found": 0, "found_seconds": 0, "refused": 0, "missed": 0}}, sites' || fail "$(cat out)"

# --duration ends a program that would not end by itself; the status is about the report.
mkfifo in report
exec 3<>in # so that its input does not end
status=0
"${as_user[@]}" fastsdt-trace --engine user --duration 0.2 -e 'usdt:./two:t:wide { @ = count(); }' -- ./two <in >out 2>err || status=$?
expect "--duration: status" "$status" 0
grep -qx 'sites 1 of 1 armed; dropped 0' out || fail "--duration: $(cat out)"
expect "--duration: messages" "$(cat err)" ""

# A signal goes to the program, and the hits until then are reported. Not SIGINT, which this shell lets its jobs ignore.
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:./two:t:wide { @ = count(); }' -- ./two <in >report 2>err 3>&- &
tracer=$!
exec 5<report
read -r line <&5
expect "a signal: what the program says" "$line" ran
kill -TERM $tracer
cat <&5 >out
status=0
wait $tracer || status=$?
expect "a signal" "$status $(cat out)" "0 @: 10
sites 1 of 1 armed; dropped 0"
expect "a signal: messages" "$(cat err)" "fastsdt-trace: ./two was killed by signal 15"
exec 3>&-

# A script in a file, on running processes of every kind of program.
attachable || exit 0
cat >script.bt <<'END'
usdt:*:shop:order { @n = count(); @sum = sum(arg0); }
interval:ms:10 { printf("armed\n"); }
END
for options in -pie "-no-pie -s" -static -static-pie "-static-pie -s"; do
    gcc -O2 $options -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
    mkfifo orders answers
    "${as_user[@]}" ./app - <orders >answers 3>&- &
    pid=$!
    exec 6>orders 7<answers
    echo 1 >&6
    read -r line <&7 && read -r line <&7 # "open", and the answer
    "${as_user[@]}" fastsdt-trace --engine user -p "$pid" script.bt >report 2>err 6>&- 7<&- &
    tracer=$!
    exec 5<report
    armed
    for order in 2 3 4; do echo $order >&6 && read -r line <&7; done
    kill -INT $tracer
    grep -v '^armed$' <&5 >out || true
    wait $tracer || fail "$options: $(cat out err)"
    expect "$options" "$(cat out)" "@n: 3
@sum: 9
sites 2 of 2 armed; dropped 0"
    exec 6>&-
    wait $pid
    rm orders answers
done
