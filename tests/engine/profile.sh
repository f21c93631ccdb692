#!/bin/bash
# profile: samples of threads while they run. How many there have to be, and where, the program says, which asks the kernel for the time of
# its threads; and perf record of the same program, where that is.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
cat >app.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
OWN void spin(long turns) { for (volatile long i = 0; i < turns; ++i) {} }
OWN void often(void) { spin(3000000); __asm__ volatile(""); }
OWN void rarely(void) { spin(1000000); __asm__ volatile(""); }
static double wanted = 600;
/* Says what of its time, in ms, each function took. */
OWN void *work(void *name)
{
    double many = 0, few = 0, before = now(), start = before;
    pthread_setname_np(pthread_self(), name);
    while (before - start < wanted) {
        double after;
        often();
        many += (after = now()) - before;
        rarely();
        few += (before = now()) - after;
    }
    printf("%s %d %.0f %.0f\n", (const char *)name, (int)getpid(), many, few);
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t threads[2];
    char line[8];
    if (argc > 2)
        wanted = atof(argv[2]);
    if (strchr(argv[1], 'w') && !fgets(line, sizeof line, stdin)) /* attached meanwhile */
        return 1;
    if (strchr(argv[1], 'f') && fork() == 0) {
        work("child");
        fflush(stdout);
        _exit(0);
    }
    for (int i = 0; i < 2; ++i)
        pthread_create(&threads[i], 0, work, i ? "beta" : "alpha");
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], 0);
    while (wait(0) > 0) {}
    return 0;
}
END
gcc -O1 -g -fno-omit-frame-pointer app.c -o app -lpthread
gcc -O2 app.c -o plain -lpthread
# check WHAT HZ: @c, samples by name and process, and @f, by name and caller, against what the program says.
cat >check.py <<'END'
import re, sys
what, hz = sys.argv[1], int(sys.argv[2])
said = [line.split() for line in open("said") if len(line.split()) == 4]
text = open("out").read()
counts = {(n, p): int(c) for n, p, c in re.findall(r"^@c\[(\w+), (\d+)\]: (\d+)$", text, re.M)}
calls = {}
for name, stack, count in re.findall(r"^@f\[(\w+), \n((?:    .*\n)+)\]: (\d+)$", text, re.M):
    for function in ("often", "rarely"):
        if function in stack:
            calls[name, function] = calls.get((name, function), 0) + int(count)
for name, pid, many, few in said:
    wanted, got = (int(many) + int(few)) * hz / 1000, counts.get((name, pid), 0)
    if not 0.9 * wanted - 2 <= got <= 1.1 * wanted + 2:
        sys.exit(f"{what}: {name} has {got} samples, and ran for {wanted:.0f}")
    share = calls.get((name, "often"), 0) / max(1, calls.get((name, "often"), 0) + calls.get((name, "rarely"), 0))
    true = int(many) / (int(many) + int(few))
    if abs(share - true) > 0.07:
        sys.exit(f"{what}: often() has {share:.2f} of {name}'s samples, and took {true:.2f} of its time")
strangers = {pid for _, pid in counts} - {pid for _, pid, *_ in said}
if strangers:
    sys.exit(f"{what}: there are samples of {strangers}")
END
script='profile:hz:1000 /comm == "alpha" || comm == "beta" || comm == "child"/ { @c[comm, pid] = count(); @f[comm, ustack] = count(); }
    END { printf("the end\n"); }'
# traced WHAT OPTIONS...
traced() {
    status=0
    fastsdt-trace -o out "${@:2}" >said 2>err </dev/null || status=$?
    # On a busy machine some come too fast; what is left has to be right all the same.
    [ "$status" = 0 ] || grep -qx 'fastsdt-trace: [0-9]* samples were lost, since they came faster than this tool reads them' err ||
        fail "$1: $status $(cat err)"
    expect "$1: what it says" "$(grep -v 'samples were lost' err)" ""
    expect "$1: the end" "$(sed -n 1p out) $(grep -cxE 'samples [0-9]+(; lost samples [0-9]+)?' out)" "the end 1"
    python3 check.py "$1" 1000 || fail "$1"
}
traced "a command" -e "$script" -- ./app t
traced "a command and its child" -e "$script" -- ./app f
traced "without frame pointers" -e "${script/ustack/ustack(dwarf)}" -- ./plain t
grep -qE '^    [_A-Z]*clone3?[+]' out || fail "stacks do not reach the thread's first frame: $(head -n 20 out)"

# A process that runs already, which starts its threads later; nobody stops it, and its child is another process.
rm -f go
mkfifo go
./app wf 300 <go >said &
app=$!
exec 3>go
fastsdt-trace -p $app -e "$script" >out 2>err &
tracer=$!
until [ -n "$(ls -l /proc/$tracer/fd 2>/dev/null | grep perf_event)" ]; do [ -e /proc/$tracer ] || break; done
expect "nobody traces it" "$(sed -n 's/^TracerPid:\s*//p' /proc/$app/status)" 0
echo >&3
exec 3>&-
wait $app
status=0
wait $tracer || status=$?
expect "a process: status" "$status $(grep -v 'ended after' err)" "0 "
sed -i /child/d said
python3 check.py "a process" 1000 || fail "a process"

# All of a file.
sleep 100 &
other=$!
./app t 100000 >said &
app=$!
status=0
fastsdt-trace -t 0.5 -o out --exe ./app -e 'profile:hz:1000 { @[pid] = count(); }' 2>err || status=$?
expect "--exe" "$status $(cat err) $(sed -n 's/^@\[\([0-9]*\)\].*/\1/p' out)" "0  $app"
kill $other $app

# A number that comes again, of another process: in a pid namespace it can be had.
cat >again.sh <<'END'
fastsdt-trace -o out --exe ./app -e 'profile:hz:1000 /comm == "alpha" || comm == "beta"/ { @[pid] = count(); }' 2>err &
tracer=$!
for _ in 1 2; do
    echo 899 >/proc/sys/kernel/ns_last_pid
    ./app t 700
done
kill -INT $tracer
wait $tracer
END
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc bash again.sh >said && [ "$(awk '{ print $2 }' said | sort -u)" = 900 ]; then
    awk 'NR == FNR { all += $3 + $4; next } /^@\[900\]: / { got = $2 } END { if (got < 0.7 * all) { print got " samples of " all; exit 1 } }' said \
        out ||
        fail "a number that comes again: $(cat out err)"
fi

# What a sample knows, and what it does not.
status=0
fastsdt-trace -o out -e 'profile:ms:1 { @[pid, tid == pid, uid, cpu < 1024, usym(reg("ip"))] = count(); if (++@n == 50) { printf("%d\n", @n); exit(); } }' \
    -- ./app t 100 >said 2>err || status=$?
expect "exit()" "$status $(sed -n 1p out)" "0 50"
status=0
fastsdt-trace -o out -e 'BEGIN { @from = nsecs; } profile:hz:1000 { @early += nsecs < @from; @sum = count(); }' -- ./app t 50 >said 2>err || status=$?
expect "nsecs of samples" "$status $(grep -c -e '^@early: 0$' out)" "0 1"
refused() {
    status=0
    fastsdt-trace -e "$1" -- ./app t 1 >out 2>err || status=$?
    expect "$1" "$status $(sed -n '1s/^-e:[0-9:]* error: //p' err)" "2 $2"
}
# Of a program that has ended before its first sample is read.
cat >short.c <<'END'
static volatile long sum;
__attribute__((noinline)) static void busy(void)
{
    for (long i = 0; i < 4000000; ++i)
        sum += i;
}
int main(void)
{
    busy();
    return 0;
}
END
gcc -O1 -static short.c -o short
for _ in 1 2 3 4 5; do
    fastsdt-trace -o out -e 'profile:hz:5000 { @[usym(reg("ip"))] = count(); }' -- ./short 2>err || true
    grep -q '^@\[busy\]: ' out || fail "a short one: $(cat out err)"
done

refused 'profile:hz:0 { @ = count(); }' 'a profile is from 1 to 1000000000'
refused 'profile:hz { @ = count(); }' 'a profile is profile:s:N, profile:ms:N, profile:us:N or profile:hz:N'
refused 'profile:hz:9 { @[func] = count(); }' "func is the name of a uprobe's or uretprobe's function, and profile:hz:9 is none"
refused 'profile:hz:9 { @ = sum(arg0); }' 'arguments are those of a usdt probe or of a uprobe, and profile:hz:9 is none'

# An ordinary user, of whose processes the kernel takes samples where they are in the program.
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] && [ "$(id -u)" = 0 ] && have setpriv; then
    program=$PWD/app
    user_folder
    cp "$program" app
    chown 65534 .
    "${as_user[@]}" fastsdt-trace -o out -e 'profile:hz:1000 { @[comm] = count(); }' -- ./app t 200 >said 2>err || fail "an ordinary user: $(cat err)"
    expect "an ordinary user" "$(sed 's/: k.*//' err)" "fastsdt-trace: time in the kernel has no samples"
    status=0
    "${as_user[@]}" fastsdt-trace -t 1 -e 'profile:hz:9 { @[comm] = count(); }' >out.machine 2>err || status=$?
    expect "the whole machine" "$status $(cat err)" \
        "2 fastsdt-trace: only root may sample the whole machine; name processes of your own: --pid, --exe, or a command behind --"
    [ "$(sed -n 's/^@\[alpha\]: //p' out)" -gt 150 ] || fail "an ordinary user has too few samples: $(cat out)"
fi

# ---- Threads that wait: each has samples for all of the time that it is there, and for what it waits in the function that does.
[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 2 ] || { echo "not tried: profile:wall, which root may have"; exit 0; }
cat >waits.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
OWN void naps(void)
{
    for (int i = 0; i < 20; ++i)
        nanosleep(&(struct timespec){0, 20000000}, 0);
    __asm__ volatile("");
}
OWN void locks(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
OWN void spins(void)
{
    const double start = now();
    while (now() - start < 400) {}
    __asm__ volatile("");
}
static void *work(void *name)
{
    pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&all);
    const double start = now();
    if (*(char *)name == 'n')
        naps();
    else if (*(char *)name == 'l')
        locks();
    else
        spins();
    printf("%s %.1f\n", (const char *)name, now() - start);
    return 0;
}
int main(void)
{
    pthread_t threads[3];
    pthread_barrier_init(&all, 0, 4);
    pthread_mutex_lock(&lock);
    pthread_create(&threads[0], 0, work, "naps");
    pthread_create(&threads[1], 0, work, "locks");
    pthread_create(&threads[2], 0, work, "spins");
    pthread_barrier_wait(&all);
    pthread_join(threads[0], 0);
    pthread_join(threads[2], 0);
    pthread_mutex_unlock(&lock);
    pthread_join(threads[1], 0);
    return 0;
}
END
gcc -O2 waits.c -o waits -lpthread
cat >waiting.py <<'END'
import re, sys
hz, wanted = int(sys.argv[2]), {name: float(time) for name, time in (line.split() for line in open("said"))}
text = open("out").read()
counts = {}
for name, stack, count in re.findall(r"^@\[(\w+), \n((?:    .*\n)*)\]: (\d+)$", text, re.M):
    function = next((each for each in wanted if f"    {each}+" in stack), "")
    counts[name, function] = counts.get((name, function), 0) + int(count)
only = sys.argv[1]
for name in wanted if only == "wall" else ("naps", "locks"):
    got, true = counts.get((name, name), 0), wanted[name] * hz / 1000
    if not 0.93 * true - 3 <= got <= 1.07 * true + 3:
        sys.exit(f"{only}: {name}() has {got} samples, and took {wanted[name]} ms: {true:.0f}")
END
for kind in wall offcpu; do
    status=0
    fastsdt-trace -o out -e "profile:$kind:hz:500 { @[comm, ustack(dwarf)] = count(); }" -- ./waits >said 2>err || status=$?
    expect "$kind" "$status $(cat err)" "0 "
    python3 waiting.py "$kind" 500 || fail "$(cat said out)"
done
# Throttled samples, and what a hypervisor takes, are made up by time. 1500 a second leave other tests alone.
limit=/proc/sys/kernel/perf_event_max_sample_rate
before=$(cat $limit)
[ "$before" != 1500 ] || before=100000 # the kernel's own: somebody killed this test
if { echo 1500 >$limit; } 2>/dev/null; then
    (
        trap 'echo "$before" >$limit' EXIT
        fastsdt-trace -o out -e 'profile:wall:hz:5000 { @[comm, ustack(dwarf)] = count(); }' -- ./waits >said 2>err ||
            fail "throttled: $? $(cat err)"
    )
    python3 waiting.py wall 5000 || fail "throttled: $(cat said out)"
fi
# The vDSO: whoever asks for the time is there, also in its last instructions, where the frame pointer is the caller's already.
cat >asks.c <<'END'
#include <time.h>
__attribute__((noinline, noclone)) long asks(void)
{
    struct timespec t = {0, 0};
    long sum = 0;
    while (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 && t.tv_sec == 0 && t.tv_nsec < 400000000)
        for (int i = 0; i < 1000 && clock_gettime(CLOCK_MONOTONIC, &t) == 0; ++i)
            sum += t.tv_nsec;
    return sum;
}
int main(void) { return asks() == 1; }
END
gcc -O2 asks.c -o asks
fastsdt-trace -o out -e 'profile:hz:500 { @[ustack(dwarf)] = count(); }' -- ./asks 2>err || fail "the vDSO: $(cat err)"
python3 - <<'END' || fail "the vDSO: $(cat out)"
import re, sys
counts = [(stack.split(), int(count)) for stack, count in re.findall(r"^@\[\n((?:    .*\n)+)\]: (\d+)$", open("out").read(), re.M)]
inside = [(stack, count) for stack, count in counts if re.match(r"(__vdso_)?clock_gettime[+]", stack[0])]
lost = [(stack, count) for stack, count in inside if not any(frame.startswith("asks+") for frame in stack)]
sys.exit(sum(count for _, count in inside) < 20 or len(lost) > 0)
END
# A 32-bit program has a vDSO of its own, for whose functions there is no name.
printf '#include <time.h>\nint main(void) { struct timespec t; for (;;) clock_gettime(CLOCK_MONOTONIC, &t); }\n' >forever.c
if gcc -m32 -O2 forever.c -o forever 2>/dev/null && [ "$(uname -m)" = x86_64 ]; then
    ./forever &
    other=$!
    until grep -q 'libc[.]so' /proc/$other/maps && grep -q vdso /proc/$other/maps; do :; done
    fastsdt-trace -t 0.5 -o out -p $other -e 'profile:hz:500 { @[reg("ip"), usym(reg("ip"))] = count(); }' 2>err && status=0 || status=$?
    cat /proc/$other/maps >maps
    kill $other
    expect "32-bit" "$status $(cat err)" "0 "
    python3 - <<'END' || fail "32-bit: $(cat out)"
import re, sys
lines = open("maps").read().splitlines()
start, end = next([int(address, 16) for address in line.split()[0].split("-")] for line in lines if line.endswith("[vdso]"))
names = [name for ip, name in re.findall(r"^@\[(\d+), (.*)\]: \d+$", open("out").read(), re.M) if start <= int(ip) < end]
sys.exit(not names or any(not name.startswith("0x") for name in names))
END
else
    echo "not tried: a 32-bit program, which gcc -m32 does not make here"
fi
# What waits already when the tool comes: where it has called the kernel.
sleep 100 &
other=$!
until grep -q nanosleep /proc/$other/syscall 2>/dev/null || [ "$(cut -d' ' -f1-3 /proc/$other/stat)" = "$other (sleep) S" ]; do :; done
fastsdt-trace -t 0.5 -o out -p $other -e 'profile:offcpu:hz:100 { @[ustack] = count(); } END { printf("ran %d\n", elapsed / 10000000); }' 2>err ||
    fail "$(cat err)"
kill $other
grep -qE '^    .*nanosleep[+]' out || fail "a thread that waits already: $(cat out)"
expect "as many as there are" "$(awk '/^ran / { ran = $2 } /^\]: / { print ($2 >= 0.6 * ran && $2 <= ran + 1) }' out)" 1
# The whole machine: a program that waits has samples like one that is named. Threads that have ended, and processors without work, do not wait.
cat >ends.py <<'END'
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"napping")
for i in range(45):
    if os.fork() == 0:
        os._exit(0)
    time.sleep(0.02)
start = time.monotonic()
time.sleep(0.5) # with 45 zombies
print(os.getpid(), time.monotonic() - start)
END
if [ "$(id -u)" = 0 ]; then
    fastsdt-trace -e 'BEGIN { printf("ready\n"); } profile:offcpu:hz:200 { @[comm, pid] = count(); @idle += tid == 0; }' -o out 2>err &
    tracer=$!
    until grep -q ready out 2>/dev/null; do :; done
    python3 ends.py >said
    kill -INT $tracer
    wait $tracer || true # samples may be lost, of whom ever
    python3 - <<'END' || fail "the whole machine: $(cat said; grep -e napping -e idle out)"
import re, sys
program, least = open("said").read().split()
counts = {pid: int(count) for pid, count in re.findall(r"^@\[napping, (\d+)\]: (\d+)$", open("out").read(), re.M)}
own = counts.pop(program, 0)
idle = re.search(r"^@idle: (\d+)$", open("out").read(), re.M)
sys.exit(not (own > float(least) * 200 * 0.9 and sum(counts.values()) < own / 2 and idle and idle[1] == "0"))
END
fi
