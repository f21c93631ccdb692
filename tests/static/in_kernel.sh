#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The static file and the kernel's engine, in guests that have BPF and nothing else: no bpftrace, no libc. On Linux 7.2 a hit at a fastsdt site takes
# no trap: the kernel's own probes count who comes in by a trap and who by a call. Linux 5.10 has no cookies, no exchange and no links.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/static/common.sh"
need qemu-system-x86_64 cpio gzip gcc busybox
static_file
build() { gcc -O2 -fno-inline -static -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" "$@"; }
build -o app
build -DFASTSDT_LAYOUT=nop1_nop4 -o trap # 7.2 has no call for it
cp "$(command -v busybox)" busybox
cat >scripts <<'END2'
#!/bin/busybox sh
# A program, a clause for each thing that programs of BPF do in a way of their own.
trace() { /bin/fastsdt trace --engine kernel "$@"; }
trace -e 'usdt:/bin/app:shop:order /arg2 > 1000/ { @[str(arg1)] = count(); @ids = sum(arg0); @cents = hist(arg2); @most = max(arg2); @least = min(arg2); }' \
    -- /bin/app 2000
trace -e 'usdt:/bin/app:shop:order { printf("%d %s\n", arg0, str(arg1)); }' -- /bin/app 3
trace -e 'usdt:/bin/app:shop:* { @[probe, comm, tid == pid] = count(); @stack[ustack(1)] = count(); }' -- /bin/app 5
trace -e 'uprobe:/bin/app:place_order { @start[tid] = nsecs; }
    uretprobe:/bin/app:place_order /@start[tid]/ { @calls = count(); @first = min(retval); @ns = hist(nsecs - @start[tid]); delete(@start[tid]); }' -- /bin/app 5
trace latency /bin/app:place_order -- /bin/app 7
END2
cat >calls <<'END2'
#!/bin/busybox sh
# How many hits came by a trap, and how many by a call; and the bytes of a process while they count, and afterwards.
b=/bin/busybox
$b mkdir -p /tracing /tmp
$b mount -t tracefs tracing /tracing
echo 'p:trap uprobe_pre_sstep_notifier' >/tracing/kprobe_events
echo 'p:call __x64_sys_uprobe' >>/tracing/kprobe_events
echo 1 >/tracing/events/kprobes/enable
for program in app trap; do
    /bin/fastsdt trace --engine kernel -e "usdt:/bin/$program:shop:order { @ = count(); }" -- /bin/$program 1000
    while read -r what hits rest; do echo "$program $what $hits"; done </tracing/kprobe_profile
done
cd /tmp
$b mkfifo in out report
/bin/app - <in >out &
pid=$!
exec 3>in 4<out
/bin/fastsdt trace --engine kernel -p $pid -e 'usdt:/bin/app:shop:order { @ = count(); } interval:ms:10 { printf("armed\n"); }' >report &
tracer=$!
exec 5<report
read -r line <&5
for order in 1 2 3 4; do
    echo tea >&3
    read -r line <&4
done
/bin/fastsdt check -P order -p $pid | $b sed 's/^/while: /'
kill -INT $tracer
$b grep -v armed <&5
wait $tracer
/bin/fastsdt check -P order -p $pid | $b sed 's/^/after: /'
exec 3>&-
wait $pid
END2
guest() { # SERIES COMMANDS
    local status=0
    FASTSDT_GUEST_SECONDS=300 "$FASTSDT_SOURCE/bench/in-guest.sh" "$1" fastsdt app trap scripts calls busybox >"out.$1" 2>err <<<"$2" || status=$?
    [ $status != 125 ] || skip "$(tail -n 1 err)"
    expect "$1: status ($(cat err "out.$1"))" $status 0
    # Orders 751 to 2000 cost more than 1000 cents, and order N costs 250 + N.
    grep -vE '^$|\|' "out.$1" | sed -n '1,/^@total/p' >got
    expect "$1: the scripts" "$(cat got)" "open
2000 orders
@[coffee]: 625
@[tea]: 625
@cents: 
@ids: $(((751 + 2000) * 1250 / 2))
@least: 1001
@most: 2250
sites 1 of 1 armed (1 by the kernel); dropped 0
open
3 orders
1 tea
2 coffee
3 tea
sites 1 of 1 armed (1 by the kernel); dropped 0
open
5 orders
@[usdt:/bin/app:shop:closed, app, 1]: 1
@[usdt:/bin/app:shop:order, app, 1]: 5
$(sed -n '/^@stack/,/^sites/{/^sites/!p}' got)
sites 2 of 2 armed (2 by the kernel); dropped 0
open
5 orders
@calls: 5
@first: 2
@ns: 
sites 2 of 2 armed (2 by the kernel); dropped 0
open
7 orders
@ns: 
$(grep '^@total: count 7, ' got)"
    expect "$1: stacks" "$(sed -n '/^@stack/,/^sites/p' got | grep -oE '(place_order|main)\+|^\]: [0-9]+' | xargs)" "main+ ]: 1 place_order+ ]: 5"
    expect "$1: histogram" "$(sed -n 's/^\(\[[0-9K]*, [0-9K]*)\) *\([0-9]*\) .*/\1 \2/p' "out.$1" | sed -n 1,3p | xargs)" \
        "[512, 1K) 23 [1K, 2K) 1024 [2K, 4K) 203"
}
scripts='/bin/busybox sh /bin/scripts'
guest 7.2 "$scripts
/bin/busybox sh /bin/calls"
count() { sed -n "s/^$1 $2 //p" out.7.2; }
# Before a nop10 is a call it is a trap, and the tool asks the kernel which of them it makes calls.
[ "$(count app trap)" -lt 50 ] && [ "$(count app call)" -ge 950 ] || fail "a hit takes a trap: $(cat out.7.2)"
[ $(($(count trap trap) - $(count app trap))) -ge 1000 ] || fail "the kernel's own probes see no trap: $(cat out.7.2)"
expect "bytes" "$(sed -n 's/^\(while\|after\): *sites  *//p' out.7.2 | xargs)" "1 optimized 1 stale-call"
grep -qE '^while: *live  90 48 8d 64 24 80 e8( [0-9a-f]{2}){4}$' out.7.2 || fail "no call: $(cat out.7.2)"
guest 5.10 "$scripts"
whole || exit 0
guest 6.1 "$scripts"
guest 6.12 "$scripts"
