#!/bin/bash
# The kernel's return probe replaces a return address: nobody gets one who did not ask for it, and nobody whom it would end.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc g++ bpftrace objcopy
need_uprobes
cat >throws.cpp <<'END_OF_CPP'
#include <cstdio>
#include <cstdlib>
// No exit that could be armed: it has none.
extern "C" [[gnu::noinline]] void fail_now(long i)
{
    throw i;
}
int main(int, char** argv)
{
    long caught = 0;
    for (long i = 0; i < std::atol(argv[1]); ++i)
        try {
            fail_now(i);
        } catch (long) {
            ++caught;
        }
    std::printf("caught %ld\n", caught);
}
END_OF_CPP
g++ -O2 throws.cpp -o throws
cat >plain.c <<'END_OF_C'
#include <stdio.h>
__attribute__((noinline)) long work(long i)
{
    __asm__ volatile("" : "+r"(i));
    return i;
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 10; ++i)
        sum += work(i);
    printf("sum %ld\n", sum);
    return 0;
}
END_OF_C
gcc -O2 plain.c -o plain
printf 'x' >note
objcopy --add-section .note.go.buildid=note plain go_program
objcopy --set-section-flags .note.go.buildid=readonly go_program

# That it does harm is the kernel's word.
status=0
timeout 60 bpftrace -e 'uretprobe:./throws:fail_now { @ = count(); }' -c './throws 3' >alone 2>&1 </dev/null || status=$?
! grep -q '^caught 3$' alone || skip "this kernel's return probe lets exceptions pass"
# trace WANTED-STATUS OPTIONS...
trace() {
    local wanted=$1 status=0
    shift
    timeout 60 fastsdt-trace "$@" >out 2>err </dev/null || status=$?
    expect "$*: status ($(cat err))" "$status" "$wanted"
}
said() { grep -q -- "$1" err || fail "not said: $1: $(cat err)"; }
asked='a uretprobe of bpftrace replaces return addresses, which ends Go programs, programs that throw through the function, and those with a shadow stack; if this is none of these, give --uretprobe'
for options in '' '--uretprobe' '--no-move' '--no-move --uretprobe'; do
    trace 1 $options -e 'uretprobe:./throws:fail_now { @ = count(); }' -- ./throws 3
    grep -qx 'caught 3' out || fail "$options: $(cat out err)"
    case $options in
    *--uretprobe) said 'a uretprobe could end the process: .*throws throws exceptions$' ;;
    *) said "$asked" ;;
    esac
done
trace 1 --no-move latency ./throws:fail_now -- ./throws 3
grep -qx 'caught 3' out || fail "latency: $(cat out err)"
# What only bpftrace can read has the same end, and the kernel's engine too.
for script in 'uretprobe:./throws:fail_now { @ = count(); }' 'uretprobe:./throws:fail_now { @[kstack] = count(); }' 'kprobe:do_nanosleep { @k = count(); } ur:"./throws":fail_now { @ = count(); }'; do
    trace 2 --engine kernel -e "$script" -- ./throws 3
    said "$asked"
    trace 2 --engine kernel --uretprobe -e "$script" -- ./throws 3
    said 'throws throws exceptions$'
done
trace 2 -e 'uretprobe:./throws:fail_now { @[kstack] = count(); }' -- ./throws 3
said "$asked"

# A program that has nothing of that kind, if it is asked for; sites of the other kind as ever.
trace 1 --no-move -e 'uretprobe:./plain:work { @ = count(); }' -- ./plain
grep -qx '@: 0' out || fail "$(cat out err)"
said "$asked"
trace 0 --no-move --uretprobe -e 'uretprobe:./plain:work { @ = sum(retval); }' -- ./plain
grep -qx '@: 45' out || fail "$(cat out err)"
trace 0 --engine kernel --uretprobe -e 'uretprobe:./plain:work { @ = sum(retval); }' -- ./plain
grep -qx '@: 45' out || fail "$(cat out err)"
trace 0 --no-move -e 'uprobe:./plain:work { @ = sum(arg0); }' -- ./plain
grep -qx '@: 45' out || fail "$(cat out err)"
trace 2 --engine kernel --uretprobe -e 'uretprobe:./go_program:work { @ = count(); }' -- ./go_program
said 'go_program is a Go program$'
gcc -O2 -fcf-protection=full -Wl,-z,shstk plain.c -o marked
if readelf -n marked | matches SHSTK; then
    trace 2 --engine kernel --uretprobe -e 'uretprobe:./marked:work { @ = count(); }' -- ./marked
    said 'marked is marked for shadow stacks$'
fi
