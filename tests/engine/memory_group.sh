#!/bin/bash
# Pages of code that change are copied, in the process's memory control group: where that has too little the kernel would end the process.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
[ "$(id -u)" = 0 ] || skip "making a memory control group needs root"
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ -z "$group" ] || break
    own=$root/fastsdt-test.$$
    mkdir "$own" 2>/dev/null || continue
    if [ -e "$own/memory.limit_in_bytes" ]; then
        group=$own most=memory.limit_in_bytes used=memory.usage_in_bytes
    elif [ -e "$own/memory.max" ]; then
        group=$own most=memory.max used=memory.current
    else
        rmdir "$own"
    fi
done
[ -n "$group" ] || skip "no memory control group can be made here"
pid=
leave() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || true
    rmdir "$group" || true
}
trap leave EXIT
# A thousand functions, each in a page of its own: 4 MiB of code are copied where all are armed.
{
    for n in $(seq 1000); do echo "__attribute__((noinline, aligned(4096))) long f$n(long a) { __asm__ volatile(\"\" : \"+r\"(a)); return a * $n + 7; }"; done
    echo '#include <stdio.h>'
    echo 'int main(void) { char line[9]; long sum = 0; while (fgets(line, sizeof line, stdin)) {'
    for n in $(seq 1000); do echo "sum += f$n(sum);"; done
    echo 'puts("did"); fflush(stdout); } return 0; }'
} >pages.c
gcc -O1 pages.c -o pages
rm -f in answers report # a report that is there is not to be taken for the new one
mkfifo in answers
bash -c 'echo $$ >'"$group"'/cgroup.procs; exec ./pages' <in >answers &
pid=$!
exec 3>in 4<answers
turn() { echo >&3 && read -r line <&4 && expect "the program" "$line" did; }
turn
echo $(($(cat "$group/$used") + (600 << 10))) >"$group/$most"
status=0
fastsdt-trace --engine user -t 0.2 -p $pid -e 'uprobe:./pages:f* { @ = count(); }' >out 2>err 3>&- 4<&- || status=$?
expect "too many: status ($(cat out err))" "$status" 2
grep -qE "1000 sites would take [0-9]+ KiB: copies of 100[0-9] pages of code, and stubs. The process's memory control group has [0-9]+ KiB left" \
    err || fail "too many: $(cat err)"
turn
fastsdt-trace --dry-run -p $pid -e 'uprobe:./pages:f* { @ = count(); }' >out 2>err 3>&- 4<&- || fail "--dry-run: $(cat err)"
grep -qE "arming would take 4[0-9]{3} KiB of the process's memory: copies of 100[0-9] pages of code, and stubs" err || fail "--dry-run: $(cat err)"
# Few are armed as ever.
fastsdt-trace --engine user -p $pid \
    -e 'uprobe:./pages:f1, uprobe:./pages:f2 { @ = count(); } interval:ms:1 { printf("armed\n"); }' >report 2>err 3>&- 4<&- &
tracer=$!
until grep -q armed report; do kill -0 $tracer || fail "few: $(cat err)"; done
turn
kill -INT $tracer
wait $tracer || fail "few: $(cat report err)"
grep -qx '@: 2' report || fail "few: $(cat report err)"
exec 3>&-
wait $pid || fail "the program was ended"
pid=
