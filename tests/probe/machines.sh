#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Machines that lack something: no /sys, a processor that is switched off.
. "$FASTSDT_SOURCE/tests/common.sh"
need_uprobes
need gcc fastsdt-probe python3 unshare taskset

cat >app.c <<'C'
#include <fastsdt.h>
int main(void) { for (int i = 0; i < 7; i++) FASTSDT(app, hit, i); return 0; }
C
gcc -O0 -I"$INCLUDE" app.c -o app
hits() { python3 -c 'import json; print(*((t["attach"], t["hits"]) for t in json.load(open("report.json"))["targets"]))'; }
fastsdt-probe --json --output report.json app
expect "as usual" "$(hits)" "('ok', 7)"

# Without /sys uprobes come by one system call from Linux 6.6 on; before, there is a sentence.
status=0
unshare -m bash -c 'umount -R /sys && fastsdt-probe --json --output report.json app' 2>err || status=$?
if [ $status = 2 ]; then
    grep -q 'no /sys/bus/event_source' err || fail "without /sys: $(cat err)"
else
    expect "without /sys: status, and $(cat err)" $status 0
    expect "without /sys" "$(hits)" "('ok', 7)"
fi

# Processor 0 is "off", and BPF is not allowed: an event for each processor that there is. The kernel's answer for one that is off is ENODEV.
[ "$(nproc --all)" -gt 1 ] || { echo "SKIP: one processor"; exit 77; }
cat >off.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_bpf || (number == SYS_perf_event_open && (int)a[2] == 0)) {
        errno = number == SYS_bpf ? EPERM : ENODEV;
        return -1;
    }
    return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
long sysconf(int name)
{
    long answer = ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
    return name == _SC_NPROCESSORS_ONLN ? answer - 1 : answer;
}
C
gcc -O1 -shared -fPIC off.c -o off.so
taskset -c 1 env LD_PRELOAD="$PWD/off.so" fastsdt-probe --json --output report.json app 2>err || fail "a processor that is off: $(cat err)"
grep -q 'BPF cannot be used' err || fail "BPF was used: $(cat err)"
expect "a processor that is off" "$(hits)" "('ok', 7)"
