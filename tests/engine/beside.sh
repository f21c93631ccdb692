#!/bin/bash
# What cannot be armed as one would like says why, and nothing of it stays in the process: a second process with the same memory, 32-bit code, and a
# function that begins with the nop of another probe.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc as ld setpriv
need_attachable
user_folder

# clone(CLONE_VM) without CLONE_THREAD: that process would run while this one's threads stand still.
cat >sharing.c <<'END_OF_C'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
static volatile int stops;
static char stack[65536];
__attribute__((noinline)) long work(long a, long b)
{
    __asm__ volatile("");
    return a * 31 + b;
}
__attribute__((noinline)) static void probe(long a)
{
    FASTSDT(sharing, hit, a);
}
static int turns(void* unused)
{
    (void)unused;
    for (long n = 0; !stops; ++n)
        probe(work(n, n));
    return 0;
}
int main(void)
{
    char line[16];
    int status = 0;
    const int child = clone(turns, stack + sizeof stack, CLONE_VM | SIGCHLD, 0);
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 'e') {
            stops = 1;
            waitpid(child, &status, 0);
        } else {
            probe(work(1, 2));
        }
        puts(status == 0 ? "did" : "wrong");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" sharing.c -o sharing
driven ./sharing
did
cat "/proc/$pid/maps" >before
for script in 'uprobe:./sharing:work { @ = count(); }' 'usdt:./sharing:sharing:hit { @ = count(); }'; do
    status=0
    "${as_user[@]}" fastsdt-trace --engine user -t 0.1 -p "$pid" -e "$script" >out 2>err 3>&- 4<&- || status=$?
    expect "shared memory: status" $status 2
    matches -E 'process [0-9]+: process [0-9]+ has the same memory \(vfork, or clone with CLONE_VM\)' <err || fail "shared memory: $(cat err)"
    cmp before "/proc/$pid/maps" || fail "shared memory: $(diff before "/proc/$pid/maps")"
done
echo end >&3
read -r line <&4 && expect "the second process" "$line" did
attach 'uprobe:./sharing:work { @ = count(); }'
did
did
kill -INT $tracer
report
expect "when it has ended" "$status $(grep @ maps)" "0 @: 2"
exec 3>&-
wait $pid || fail "the program failed"

# A process of 32 bits.
printf '%s\n' '.globl _start' '.type work, @function' '_start: sub $16, %esp' 'again: call work' 'mov %esp, %ecx' 'mov $1, %edx' 'xor %ebx, %ebx' \
    'mov $3, %eax # read' 'int $0x80' 'test %eax, %eax' 'jg again' 'mov $1, %eax # exit' 'xor %ebx, %ebx' 'int $0x80' 'work: nop' 'nop' 'nop' 'nop' \
    'nop' 'ret' '.size work, .-work' >narrow.s
as --32 narrow.s -o narrow.o && ld -m elf_i386 narrow.o -o narrow
if ./narrow </dev/null 2>narrow.err; then
    mkfifo narrow.in
    "${as_user[@]}" ./narrow <narrow.in &
    pid=$!
    exec 3>narrow.in
    # The kernel gives it its name before its mappings, of which [vdso] is the last.
    until [ "$(cat "/proc/$pid/comm")" = narrow ] && cat "/proc/$pid/maps" >before && grep -q vdso before; do kill -0 $pid; done
    status=0
    "${as_user[@]}" fastsdt-trace --engine user -t 0.1 -p $pid -e 'uprobe:./narrow:work { @ = count(); }' >out 2>err 3>&- || status=$?
    expect "32 bits: $(cat err)" "$status $(tail -1 out)" \
        "1 sites 0 of 1 armed (1 is of an architecture that only the kernel traces (i386)); dropped 0"
    cmp before "/proc/$pid/maps" || fail "32 bits: $(diff before "/proc/$pid/maps")"
    exec 3>&-
    wait $pid || fail "the program of 32 bits failed"
else
    echo "this kernel executes no programs of 32 bits: $(cat narrow.err)"
fi

# The nop stays the probe's that it was made for. The function's own probe is the kernel's, for root: both count all hits.
cat >both.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
__attribute__((noinline)) long work(long a, long b)
{
    __asm__ volatile("");
    FASTSDT(both, hit, a);
    return a * 31 + b;
}
int main(void)
{
    long n = 0;
    for (int i = 0; i < 1000; ++i)
        n = work(n, i);
    printf("%lx\n", n);
    return 0;
}
END_OF_C
gcc -O2 -fcf-protection=none -I"$INCLUDE" both.c -o both
result=$(./both)
script='uprobe:./both:work { @f = count(); } usdt:./both:both:hit { @u = count(); }'
status=0
fastsdt-trace --engine user -e "$script" -- ./both >out 2>err || status=$?
expect "a nop at the start: $(cat err)" "$status $(head -1 out) $(grep @ out | xargs)" "1 $result @f: 0 @u: 1000"
grep -qxF 'sites 1 of 2 armed (1 has no nop10, and too few bytes beside another probe of the script); dropped 0' out ||
    fail "a nop at the start: $(cat out)"
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    fastsdt-trace -e "$script" -- ./both >out 2>err || fail "both engines: $(cat err out)"
    expect "both engines: $(cat err)" "$(head -1 out) $(grep @ out | xargs)" "$result @f: 1000 @u: 1000"
fi
