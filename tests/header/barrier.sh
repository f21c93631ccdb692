#!/bin/bash
# What a probe points to is in memory when a tracer reads it, and a semaphore is read again after each site: systemtap's
# header promises both, by a basic asm, which gcc takes for a use of all memory.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the layouts are those of x86-64"
need gdb bpftrace
need_uprobes

# Nothing in the program reads the array: only the tracer does. A probe by each name and in each form of the asm.
cat > values.c <<'E'
#include <sys/sdt.h>
#ifdef OURS
#include "usdt.h"
#endif
#define VALUES(name, PROBE)                                                                                            \
    __attribute__((noinline)) void name(long a);                                                                       \
    __attribute__((noinline)) void name(long a)                                                                        \
    {                                                                                                                  \
        long numbers[3] = {a, a + 1, a + 2};                                                                           \
        char text[6] = {(char)('o' + a), 'r', 'd', 'e', 'r', 0};                                                       \
        PROBE;                                                                                                         \
    }
VALUES(stap, STAP_PROBE2(p, stap, numbers, text))
#ifdef OURS
VALUES(dtrace, DTRACE_PROBE2(p, dtrace, numbers, text))
VALUES(usdt, USDT(p, usdt, numbers, text))
VALUES(usdt_sema, USDT_WITH_SEMA(p, usdt_sema, numbers, text))
VALUES(own, FASTSDT(p, own, numbers, text))
VALUES(call, FASTSDT_WITH(nop5, none, p, call, numbers, text))
VALUES(nop1_call, FASTSDT_WITH(nop1_nop5, implicit, p, nop1_call, numbers, text))
#else
#define dtrace stap
#define usdt stap
#define usdt_sema stap
#define own stap
#define call stap
#define nop1_call stap
#endif
int main(int argc, char **argv)
{
    (void)argv;
    stap(argc - 1); dtrace(argc - 1); usdt(argc - 1); usdt_sema(argc - 1); own(argc - 1); call(argc - 1);
    nop1_call(argc - 1);
    return 0;
}
E
names="stap dtrace usdt usdt_sema own call nop1_call"
for name in $names; do
    echo "usdt:./PROGRAM:p:$name { printf(\"$name %ld %ld %ld %s\\n\", *(int64 *)arg0, *(int64 *)(arg0 + 8), *(int64 *)(arg0 + 16), str(arg1)); }"
done > ours.bt
sed -n 1p ours.bt > theirs.bt
read_values() { # read_values PROGRAM SCRIPT
    sed "s|\./PROGRAM|$PWD/$1|" $2 > run.bt
    timeout 60 bpftrace run.bt -c "$PWD/$1" > got 2> err || fail "bpftrace: $(tail -3 err)"
    grep -v '^Attaching\|^$' got | sort -u
}
if [ -e /usr/include/sys/sdt.h ] || [ -e /usr/include/"$(gcc -print-multiarch)"/sys/sdt.h ]; then
    gcc -O2 values.c -o theirs
    expect "systemtap's header" "$(read_values theirs theirs.bt)" "stap 0 1 2 order"
fi
want=$(for name in $names; do echo "$name 0 1 2 order"; done | sort)
for c in $(have_of gcc-12 clang-14 clang-19); do
    for compiler in $c $(cxx_of $c); do
        have $compiler || continue
        [ $compiler != clang++-14 ] || continue # each run of bpftrace takes a while
        language=c
        [ $compiler = $c ] || language=c++
        $compiler -x $language $optin -DOURS -O2 -I"$INCLUDE" values.c -o ours
        expect "$compiler: what bpftrace reads" "$(read_values ours ours.bt)" "$want"
    done
done
# gdb reads the same.
gcc $optin -DOURS -O2 -I"$INCLUDE" values.c -o ours
{
    for name in $names; do echo "break -probe-stap p:$name"; done
    echo run
    for name in $names; do
        echo 'printf "%ld %ld %ld %s\n", ((long *)$_probe_arg0)[0], ((long *)$_probe_arg0)[1], ((long *)$_probe_arg0)[2], (char *)$_probe_arg1'
        echo continue
    done
} > gdb.in
gdb -nx -batch -x gdb.in ./ours > gdb.out 2>&1 || true
if grep -q 'ptrace: Operation not permitted\|not being run' gdb.out; then
    echo "gdb cannot run programs here"
else
    expect "what gdb reads" "$(grep -c '^0 1 2 order$' gdb.out)" "$(wc -w <<< "$names")"
fi

# A plain semaphore, as `dtrace -h` declares them, is all that ends the program's loop: the loop runs until a tracer
# comes, is hit, and ends when the tracer goes.
cat > loop.c <<'E'
#include <unistd.h>
#define _SDT_HAS_SEMAPHORES
#include <sys/sdt.h>
__extension__ unsigned short p_tick_semaphore __attribute__((section(".probes")));
int main(void)
{
    long hits = 0;
    alarm(60);
    for (;;) {
        if (p_tick_semaphore) {
            STAP_PROBE1(p, tick, hits);
            hits++;
        } else if (hits) {
            return 0;
        }
        __asm__ volatile("pause" : :);
    }
}
E
for c in $(have_of gcc-12 clang-19); do
    for layout in nop1_nop10 nop5; do
        $c $optin -DFASTSDT_LAYOUT=$layout -O2 -I"$INCLUDE" loop.c -o loop
        ./loop &
        pid=$!
        timeout 50 bpftrace -p $pid -e "usdt:$PWD/loop:p:tick { printf(\"hit\\n\"); exit(); }" > got 2> err || true
        grep -q '^hit' got || { kill $pid; fail "$c $layout: the loop does not see the tracer, $(cat err)"; }
        wait $pid || fail "$c $layout: the loop does not see the tracer go"
    done
done
