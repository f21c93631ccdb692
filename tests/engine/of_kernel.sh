#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What only the kernel's engine has, and --engine auto takes it for: cgroup, by the numbers of a control group's folder, and signal(), by what the
# program gets. (kstack would be empty: a uprobe's hit comes from the program, and bpftrace's is empty there too.)
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc unshare
need_uprobes
[ "$(id -u)" = 0 ] || skip "only root makes control groups"
cat >gets.c <<'END2'
#include <fastsdt.h>
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t got;
static void handle(int number) { (void)number; ++got; }
int main(void)
{
    signal(SIGUSR1, handle);
    for (int i = 0; i < 10; ++i)
        FASTSDT(shop, order, i);
    printf("got %d\n", (int)got);
    return 0;
}
END2
gcc -O2 -I"$INCLUDE" gets.c -o gets
trace() { # WANTED-STATUS OPTIONS...
    local wanted=$1 status=0
    shift
    timeout 60 fastsdt-trace "$@" >out 2>err </dev/null || status=$?
    expect "$*: status ($(cat err out))" "$status" "$wanted"
}

# ---- signal()
trace 0 --unsafe -e 'usdt:./gets:shop:order /arg0 == 3 || arg0 == 5/ { signal("USR1"); @ = count(); }' -- ./gets
expect "signal()" "$(grep -E '^(@|got|sites)' out)" "got 2
@: 2
sites 1 of 1 armed (1 by the kernel); dropped 0"
trace 0 --unsafe -e 'usdt:./gets:shop:order /arg0 == 3/ { signal("SIGUSR1"); } usdt:./gets:shop:order /arg0 == 9/ { signal(arg0); }' -- ./gets
expect "SIGKILL" "$(grep -c 'killed by signal 9' err) $(grep -c got out)" "1 0"
trace 1 --engine user --unsafe -e 'usdt:./gets:shop:order { signal(10); }' -- ./gets
grep -qF "sites 0 of 1 armed (1 wants signal(), which only the kernel's engine has)" out || fail "engine user: $(cat out)"
grep -qx 'got 0' out || fail "engine user: $(cat out)"
wrong() { # SCRIPT SENTENCE
    trace "${3:-2}" ${unsafe-"--unsafe"} -e "$1" -- ./gets
    grep -qF "$2" err || fail "$1: $(cat err)"
    ! grep -q got out || fail "$1: it runs"
}
wrong 'usdt:./gets:shop:order { signal("NOTHING"); }' 'there is no signal NOTHING'
wrong 'usdt:./gets:shop:order { signal(0); }' 'there is no signal 0'
wrong 'BEGIN { signal("USR1"); }' 'signal() belongs to probes of programs'
wrong 'usdt:./gets:shop:order { @[cgroup] = count(); @ = sum(cgroupid("/nowhere")); }' '/nowhere: No such file or directory'
unsafe= wrong 'usdt:./gets:shop:order { signal("USR1"); }' 'it needs --unsafe'

# ---- cgroup
cat >grouped.sh <<'END2'
mkdir -p groups
mount -t cgroup2 none groups 2>/dev/null || exit 77
mkdir -p groups/fastsdt-test
trap 'echo 0 >groups/cgroup.procs; rmdir groups/fastsdt-test' EXIT
echo 0 >groups/fastsdt-test/cgroup.procs
stat -c %i groups/fastsdt-test >number
timeout 60 fastsdt-trace -e 'usdt:./gets:shop:order { @[cgroup] = count(); @here = sum(cgroup == cgroupid("groups/fastsdt-test")); }' -- ./gets >out 2>err </dev/null
END2
status=0
unshare --mount --propagation private bash grouped.sh || status=$?
[ $status != 77 ] || skip "no control groups can be made here"
expect "cgroup ($(cat err))" "$status $(grep '^@' out | sort | xargs -d '\n')" "0 @[$(cat number)]: 10 @here: 10"
