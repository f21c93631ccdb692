#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process in namespaces of its own, under a filter that refuses what Docker's default profile refuses: root traces it from outside. Who
# may not read the filter gets the reason.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv unshare
need_attachable
[ "$(id -u)" = 0 ] || skip "it needs root, to read what a filter allows"
unshare --pid --mount --ipc --uts --net --fork --mount-proc true 2>/dev/null || skip "no namespaces can be made here"
user_folder
as_user=()
cat >app.c <<'END'
#define FASTSDT_IMPLICIT_SEMAPHORES
#include <fastsdt.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline, noclone)) void hits(int n)
{
    for (int i = 0; i < n; ++i)
        FASTSDT_WITH(default, implicit, app, hit, i % 2, i % 2 ? "odd" : "even");
}
int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (char line[64]; printf("did %d %d\n", getpid(), FASTSDT_IS_ACTIVE(app, hit) ? 1 : 0), fgets(line, sizeof line, stdin);) {
        int n = 0;
        if (sscanf(line, "hit %d", &n) == 1)
            hits(n);
        else if (sscanf(line, "fork %d", &n) == 1) {
            if (fork() == 0) {
                hits(n);
                _exit(0);
            }
            wait(NULL);
        }
    }
    return 0;
}
END
gcc -O2 "$FASTSDT_SOURCE/tests/engine/box.c" -o box
gcc -O2 -DMORE='REFUSE(SYS_memfd_create),' "$FASTSDT_SOURCE/tests/engine/box.c" -o tight
gcc -O2 -I"$INCLUDE" app.c -o app
mkfifo in out report
unshare --pid --mount --ipc --uts --net --fork --mount-proc ./box ./app <in >out &
unshared=$!
exec 3>in 4<out
turn() { # COMMAND; leaves the process's number in its namespace, and `active`
    [ -z "$1" ] || echo "$1" >&3
    read -r _ inside active <&4
}
turn ''
pid=$(cat /proc/$unshared/task/$unshared/children)
pid=${pid% }
expect "its filter" "$(grep '^Seccomp:' /proc/"$pid"/status | tr -dc 0-9)" 2
mappings() { grep -vE 'stack|heap|uprobes' "/proc/$pid/maps"; }
before=$(mappings)
# again: what holds after each run.
again() {
    turn 'hit 10'
    expect "the counter afterwards" "$active" 0
    expect "its mappings afterwards" "$(mappings)" "$before"
    fastsdt-check --pid "$pid" >check || fail "$(cat check)"
}
# Its number is the one that it has inside. Strings of read-only data are read without a system call.
attach 'usdt:*:app:hit { @[pid, arg0] = count(); @text[str(arg1)] = count(); }'
turn 'hit 100'
expect "the counter" "$active" 1
kill -INT $tracer
report
expect "counts" "$status $(cat maps err)" \
    "0 $(printf '%s\n' "@[$inside, 0]: 50" "@[$inside, 1]: 50" "@text[even]: 50" "@text[odd]: 50" "sites 1 of 1 armed; dropped 0")"
again
# And what it forks.
attach 'usdt:*:app:hit { @ = count(); }' --follow
turn 'hit 100'
turn 'fork 40'
kill -INT $tracer
report
expect "with a child" "$status $(cat maps err)" "0 @: 140
sites 1 of 1 armed; dropped 0; followed 1"
again

# refused WHAT PREFIX...: by the reason, and the process goes on.
refused() {
    local what=$1
    shift
    status=0
    "$@" fastsdt-trace --engine user -p "$pid" -e 'usdt:*:app:hit { @ = count(); }' >all 2>err || status=$?
    expect "$what: status" "$status $(cat all)" "2 "
    grep -q "process $pid: its thread $pid has a seccomp filter, which could kill it .*, and what it allows cannot be read" err ||
        fail "$what: $(cat err)"
    turn 'hit 1'
}
refused "a tracer with the same filter" ./box
exec 3>&-
wait $unshared || fail "it ended with $?"

# A filter that does not allow what the user engine wants is named, and bpftrace is taken where it can be.
./tight ./app <in >out &
pid=$!
exec 3>in 4<out
turn ''
status=0
fastsdt-trace --engine user -p "$pid" -e 'usdt:./app:app:hit { @ = count(); }' >all 2>err || status=$?
expect "a tight filter" "$status $(cat all err)" \
    "2 fastsdt-trace: process $pid: its thread $pid has a seccomp filter, which does not allow memfd_create() as we would have it made; trace it with the kernel's probes"
if [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    fastsdt-trace -p "$pid" -e 'usdt:./app:app:hit { @ = count(); } interval:ms:100 { printf("begun\n"); }' >report 2>err 3>&- 4<&- &
    tracer=$!
    exec 5<report
    while read -r line <&5 && [ "$line" != begun ]; do :; done
    turn 'hit 50'
    kill -INT $tracer
    status=0
    grep '^@' <&5 >maps || true
    wait $tracer || status=$?
    expect "the kernel's engine" "$status $(cat maps)" "0 @: 50"
    grep -q "^fastsdt-trace: engine kernel: process $pid: its thread $pid has a seccomp filter, which does not allow" err || fail "$(cat err)"
fi
exec 3>&-
wait "$pid" || fail "it ended with $?"
