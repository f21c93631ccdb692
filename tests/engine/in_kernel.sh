#!/bin/bash
# --engine kernel: BPF programs of ours count at uprobes, exactly, and whoever is counted goes on as it would.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc g++ python3
need_uprobes
# trace WANTED-STATUS OPTIONS...: leaves out and err.
trace() {
    local wanted=$1 status=0
    shift
    timeout 120 fastsdt-trace --engine kernel "$@" >out 2>err </dev/null || status=$?
    expect "$*: status ($(cat err out))" "$status" "$wanted"
}
maps() { grep '^@' out | sort | xargs -d '\n'; }

# Threads on all processors: sums are exact, by every kind of map.
cat >threads.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#include <stdlib.h>
static long turns;
static void* work(void* number)
{
    for (long i = 0; i < turns; ++i)
        FASTSDT(t, hit, i, (long)number);
    return NULL;
}
int main(int argc, char** argv)
{
    pthread_t threads[8];
    turns = atol(argv[argc - 1]);
    for (long i = 0; i < 8; ++i)
        pthread_create(&threads[i], NULL, work, (void*)i);
    for (long i = 0; i < 8; ++i)
        pthread_join(threads[i], NULL);
    return 0;
}
END
gcc -O2 -pthread -I"$INCLUDE" threads.c -o threads
turns=25000
trace 0 -e 'usdt:./threads:t:hit { @n = count(); @sum = sum(arg0); @by[arg1] = count(); @added += 2; @min = min(arg0 - 7); @max = max(arg0); @s = stats(arg1); }' -- ./threads $turns
expect "threads" "$(maps)" "@added: $((16 * turns)) @by[0]: $turns @by[1]: $turns @by[2]: $turns @by[3]: $turns @by[4]: $turns @by[5]: $turns @by[6]: $turns @by[7]: $turns @max: $((turns - 1)) @min: -7 @n: $((8 * turns)) @s: count $((8 * turns)), average 3, total $((28 * turns)) @sum: $((8 * (turns - 1) * turns / 2))"
grep -qx 'sites 1 of 1 armed (1 by the kernel); dropped 0' out || fail "threads: $(cat out)"
# What finds no room is counted.
trace 1 -e 'usdt:./threads:t:hit { @[arg0, arg1] = hist(arg0); }' -- ./threads 20000
python3 -c 'import re
text = open("out").read()
kept = len(re.findall(r"^@\[", text, re.M))
dropped = int(re.search(r"; dropped (\d+)$", text, re.M)[1])
assert kept >= 4096 and kept + dropped == 160000, (kept, dropped)' || fail "no room: $(tail -1 out)"

# Memory: a page that nobody has touched, one that is not there, and a text up to a page's end.
cat >memory.c <<'END'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    int fd = memfd_create("text", 0);
    if (ftruncate(fd, 8192) || pwrite(fd, "never touched", 13, 100) != 13 || pwrite(fd, "at the end", 10, 4086) != 10)
        return 1;
    char* file = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
    mprotect(file + 4096, 4096, PROT_NONE);
    FASTSDT(m, read, file + 100, file + 4086, (char*)16, 7L);
    munmap(file, 8192);
    return 0;
}
END
gcc -O2 -I"$INCLUDE" memory.c -o memory
trace 0 -e 'usdt:./memory:m:read { printf("%s|%s|%s|%d\n", str(arg0), str(arg1), str(arg2), *(int64*)arg2); @[str(arg1)] = sum(arg3); }' -- ./memory
expect "memory" "$(grep -v '^sites' out | grep .)" "never touched|at the end||0
@[at the end]: 7"

# Two processes, armed at once: a hit counts once, and each has its own addresses of the function and of the variable.
cat >waits.c <<'END'
#include <stdio.h>
#include <stdlib.h>
long value;
__attribute__((noinline)) long show(long n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}
int main(int argc, char** argv)
{
    long sum = 0;
    value = atol(argv[argc - 1]);
    getchar();
    for (long i = 0; i < 4; ++i)
        sum += show(i);
    return sum != 6;
}
END
gcc -O1 waits.c -o waits
rm -f one two report
mkfifo one two report
for _ in 1 2 3 4 5; do # it was wrong in every other run
    ./waits 10 <one &
    one=$!
    ./waits 1000 <two &
    two=$!
    exec 6>one 7>two
    start_tracer timeout 120 fastsdt-trace --engine kernel -p $one -p $two -e 'interval:ms:10 { printf("armed\n"); }
        uprobe:./waits:show { @[usym(reg("ip"))] = count(); @sum = sum(*uaddr("value")); }' 6>&- 7>&-
    echo >&6
    echo >&7
    report
    expect "two processes" "$status $(grep '^@' maps | xargs)" "0 @[show]: 8 @sum: 4040"
    wait $one || fail "the first: $?"
    wait $two || fail "the second: $?"
done
exec 6>&- 7>&-

# Exceptions pass through functions whose ways out are traced; no return address is replaced.
cat >throws.cpp <<'END'
#include <cstdio>
#include <cstdlib>
extern "C" [[gnu::noinline]] long odd(long i)
{
    if (i % 2)
        throw i;
    return i * 10;
}
int main(int, char** argv)
{
    long caught = 0, sum = 0;
    for (long i = 0; i < std::atol(argv[1]); ++i)
        try {
            sum += odd(i);
        } catch (long) {
            ++caught;
        }
    std::printf("caught %ld, sum %ld\n", caught, sum);
}
END
g++ -O2 throws.cpp -o throws
trace 0 -e 'uprobe:./throws:odd { @in = count(); } uretprobe:./throws:odd { @out = count(); @sum = sum(retval); }' -- ./throws 1000
grep -qx 'caught 500, sum 2495000' out || fail "exceptions: $(cat out)"
expect "exceptions" "$(maps)" "@in: 1000 @out: 500 @sum: 2495000"

# Whoever forks, and what it forks; a library that comes later; semaphores.
cat >plugin.c <<'END'
#define FASTSDT_IMPLICIT_SEMAPHORES
#include <fastsdt.h>
void plugged(long n)
{
    for (long i = 0; i < n; ++i)
        if (FASTSDT_IS_ACTIVE(plugin, hit))
            FASTSDT_WITH(default, implicit, plugin, hit, i);
}
END
cat >forks.c <<'END'
#include <fastsdt.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void hits(int n)
{
    for (int i = 0; i < n; ++i)
        FASTSDT(f, hit, i, (long)getpid());
}
int main(int argc, char** argv)
{
    hits(10);
    for (int i = 0; i < 5; ++i)
        if (fork() == 0) {
            if (fork() == 0) {
                hits(30);
                return 0;
            }
            wait(NULL);
            hits(20);
            return 0;
        }
    while (wait(NULL) > 0) {}
    if (argc > 1) {
        void (*plugged)(long) = (void (*)(long))dlsym(dlopen(argv[1], RTLD_NOW), "plugged");
        plugged(0);
        for (char line[8]; fgets(line, sizeof line, stdin);) {
            plugged(100);
            puts("did");
            fflush(stdout);
        }
    }
    return 0;
}
END
gcc -O2 -shared -fPIC -I"$INCLUDE" plugin.c -o plugin.so
gcc -O2 -I"$INCLUDE" forks.c -o forks
trace 0 -e 'usdt:./forks:f:hit { @ = count(); @where[arg1 == pid] = count(); }' -- ./forks
expect "forks" "$(maps)" "@: 260 @where[1]: 260"
# Programs that end before anybody could look at them.
trace 0 -e 'usdt:./forks:f:hit { @ = count(); @own = sum(arg1 == pid); }' -- sh -c 'for i in 1 2 3 4 5; do ./forks; done; exec ./forks'
expect "programs of a shell" "$(maps)" "@: 1560 @own: 1560"
# A pattern means files that nobody knows before they are executed: such a program is traced late, or is counted as missed.
printf '__attribute__((noinline)) int kept(int n) { return n + 1; } int main(int n, char** v) { return v[kept(n)] != 0; }' | gcc -O1 -x c - -o known
printf 'int main(void) { return 0; }' | gcc -O1 -x c - -o unknown
timeout 120 fastsdt-trace --engine kernel -e 'uprobe:./known:kept { @a = count(); } uprobe:*:main { @b[comm] = count(); }' -- \
    sh -c 'for i in 1 2 3; do ./unknown; ./known; done' >out 2>err </dev/null || true
python3 -c 'import re
text = open("out").read()
told = {word: int(number) for word, number in re.findall(r"; (found|missed) (\d+)", text)}
hits = int((re.search(r"^@b\[unknown\]: (\d+)", text, re.M) or [0, 0])[1])
assert "@a: 3" in text and hits + told.get("found", 0) + told.get("missed", 0) >= 3, text
assert "nothing matched uprobe:./known" not in open("err").read()' || fail "a pattern: $(cat out err)"
rm -f in answers report
driven ./forks ./plugin.so # by a name that an ordinary user can reach
did
start_tracer fastsdt-trace --engine kernel -p "$pid" -e 'interval:ms:10 { printf("armed\n"); } usdt:*:plugin:hit { @ = count(); }'
did
did
kill -INT $tracer
report
expect "semaphores: $(cat err)" "$status $(grep . maps)" "0 @: 200
sites 1 of 1 armed (1 by the kernel); dropped 0"
exec 3>&- 4<&-
wait "$pid"

# A library that the process loads after that: from its first hit on, also where nobody has seen it loaded yet. Others' hits do not count.
cat >loads.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv)
{
    for (char line[8]; fgets(line, sizeof line, stdin);) {
        void* handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
        ((void (*)(long))dlsym(handle, "plugged"))(100);
        dlclose(handle);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END
gcc -O2 loads.c -o loads
rm -f in answers report
driven ./loads ./plugin.so
start_tracer fastsdt-trace --engine kernel -p "$pid" \
    -e 'interval:ms:10 { printf("armed\n"); } uprobe:./loads:main { @main = count(); } usdt:./plugin.so:plugin:hit { @ = count(); @sum = sum(arg0); }'
did
did
did
expect "another process" "$(echo | ./loads ./plugin.so)" did
kill -INT $tracer
report
expect "a library that comes: $(cat err)" "$status $(grep '^@' maps | sort | xargs)" "0 @: 300 @main: 0 @sum: $((3 * 4950))"
exec 3>&- 4<&-
wait "$pid"

# A thousand sites take one link for each program, and little time: fewer descriptors than sites.
python3 - >many.c <<'END'
print('#include <fastsdt.h>\n#include <stdio.h>')
for i in range(1000):
    print(f'__attribute__((noinline)) static void f{i}(long a) {{ FASTSDT(m, p{i}, a); }}')
print('int main(void) { for (char line[8]; fgets(line, sizeof line, stdin);) {')
for i in range(1000):
    print(f'f{i}({i});')
print('puts("did"); fflush(stdout); } return 0; }')
END
gcc -O1 -I"$INCLUDE" many.c -o many
rm in answers report
driven ./many
start_tracer fastsdt-trace --engine kernel -p "$pid" \
    -e 'interval:ms:10 { printf("armed\n"); } usdt:./many:m:* { @[probe] = sum(arg0); @n = count(); }'
links=$(grep -lx 'link_type:.*' /proc/$tracer/fdinfo/* | wc -l)
programs=$(grep -lxE 'prog_type:\s2' /proc/$tracer/fdinfo/* | wc -l) # BPF_PROG_TYPE_KPROBE
did
kill -INT $tracer
report
expect "a thousand sites: $(cat err)" "$status $(grep -c '^@\[' maps) $(grep -E '^@n|@\[usdt:./many:m:p999\]' maps | sort | xargs)" \
    "0 1000 @[usdt:./many:m:p999]: 999 @n: 1000"
[ "$links" -le 20 ] || fail "a thousand sites: $links links"
expect "a thousand sites: programs" "$programs" 1
exec 3>&- 4<&-
wait "$pid"

# Until Linux 6.18 a uprobe on xchg %rax,%r8 has it left out, as a nop is (Go's runtime has it): nobody gets one there.
cat >exchange.c <<'END'
#include <stdio.h>
long exchange(long a);
__asm__(".text\n.globl exchange\n.type exchange,@function\nexchange:\n.cfi_startproc\n"
        "\txchg %rax, %r8\n\tlea 1(%rdi), %rax\n\tret\n.cfi_endproc\n.size exchange,.-exchange\n");
int main(void)
{
    register long kept __asm__("rax") = 5, result __asm__("r8") = 6;
    __asm__ volatile("mov $1, %%edi; call exchange; mov %%rax, %%rdi" : "+r"(kept), "+r"(result) : : "rdi", "cc", "memory");
    printf("r8 %ld\n", result);
    return 0;
}
END
gcc -O1 exchange.c -o exchange
status=0
timeout 60 fastsdt-trace --engine kernel -e 'uprobe:./exchange:exchange { @ = count(); }' -- ./exchange >out 2>err </dev/null || status=$?
grep -qx 'r8 5' out || fail "xchg: $(cat out err)"
case "$status $(grep '^sites' out)" in
"0 sites 1 of 1 armed (1 by the kernel); dropped 0") ;;
"1 sites 0 of 1 armed (1 cannot be had in the kernel: a uprobe there would break the program: "*) ;;
*) fail "xchg: $(cat out)" ;;
esac

# Code of 32 bits: hits and results, not arguments.
if printf 'int main(void) { return 0; }' | gcc -m32 -x c - -o narrow 2>/dev/null && ./narrow; then
    gcc -m32 -O2 -I"$INCLUDE" forks.c -o narrow
    trace 0 -e 'usdt:./narrow:f:hit { @ = count(); }' -- ./narrow
    expect "32 bits" "$(maps)" "@: 260"
    trace 1 -e 'usdt:./narrow:f:hit { @ = sum(arg0); }' -- ./narrow
    grep -q '^sites 0 of 1 armed (1 cannot be had in the kernel: arguments of 32-bit code are not read)' out || fail "32 bits: $(cat out)"
else
    echo "no 32-bit programs here: that is not tried"
fi

# What it cannot do it says.
trace 1 -e 'usdt:./threads:t:hit { @ = sum(len(ustack)); }' -- ./threads 2
grep -qx "sites 0 of 1 armed (1 cannot be had in the kernel: len() of a stack is engine user's); dropped 0" out || fail "len(ustack): $(cat out)"
trace 2 -e 'usdt:./threads:t:hit { @[ustack(dwarf)] = count(); }'
grep -q '^fastsdt-trace: --engine kernel: ustack(dwarf) needs to know what a process has mapped' err || fail "ustack(dwarf) of everyone: $(cat err)"
fastsdt-trace -e 'usdt:./threads:t:hit { @[ustack(dwarf)] = count(); }' >out 2>err </dev/null &&
    fail "ustack(dwarf) of everyone, engine auto: status 0"
expect "ustack(dwarf) of everyone, engine auto" "$(cat err)" \
    "fastsdt-trace: name a process with --pid, all that have a file with --exe, or a command after --: ustack(dwarf) needs to know what a process has mapped"
# More than the verifier takes: the message has the way out.
if fastsdt-trace --engine kernel -e 'usdt:./threads:t:hit { $s = ustack(dwarf); @a[$s] = count(); @b[$s] = count(); }' -- ./threads 2 >out 2>err; then
    many=$(for i in {1..40}; do printf '@a%d[ustack(dwarf)] = count(); ' "$i"; done)
    trace 1 -e "usdt:./threads:t:hit { $many }" -- ./threads 2
    grep -qF 'sites 0 of 1 armed (1 cannot be had in the kernel: the script unwinds 40 times there, too often for this kernel: have one clause, $s = ustack(dwarf) in it, and $s wherever the stack is wanted); dropped 0' out ||
        fail "40 ustack(dwarf): $(cat out)"
fi
status=0
"${as_user[@]}" fastsdt-trace --engine kernel -e 'BEGIN { @ = 1; } usdt:./threads:t:hit { @n = count(); }' -- ./threads 2 >out 2>err || status=$?
if [ ${#as_user[@]} != 0 ]; then
    expect "an ordinary user" "$status $(sed 's/(.*//' err)" "2 fastsdt-trace: --engine kernel: not allowed to attach uprobes "
fi
