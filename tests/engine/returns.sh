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
/* Another function jumps into it. */
long shared(long i), other(long i), maybe(long i);
__asm__(".text\n.globl shared, other, maybe\n.type shared, @function\n.type maybe, @function\n.type other, @function\n"
        "shared:\n.cfi_startproc\n\tmov %rdi, %rax\n.Lmiddle: nop\n\tret\n.cfi_endproc\n.size shared, .-shared\n"
        "maybe:\n.cfi_startproc\n\ttest %rdi, %rdi\n\tjz other\n\tret\n.cfi_endproc\n.size maybe, .-maybe\n"
        "other:\n.cfi_startproc\n\tmov $1, %eax\n\tjmp .Lmiddle\n.cfi_endproc\n.size other, .-other\n");
int main(int argc, char** argv)
{
    (void)argv;
    long sum = argc > 5 ? other(1) + maybe(2) : 0;
    for (long i = 0; i < 10; ++i)
        sum += work(i) + shared(i + 1) - i - 1;
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
for options in '' '--no-move' '--engine kernel' '--uretprobe' '--no-move --uretprobe' '--engine kernel --uretprobe'; do
    trace 1 $options -e 'uretprobe:./throws:fail_now { @ = count(); }' -- ./throws 3
    grep -qx 'caught 3' out || fail "$options: $(cat out err)"
    case $options in
    *--uretprobe) grep -q '^sites 0 of 1 armed (1 cannot be had in the kernel: a uretprobe could end the process: .*/throws throws exceptions); ' \
        out || fail "$options: $(cat out)" ;;
    *) grep -qx 'sites 0 of 1 armed (1 has no nop10, and its code never returns); dropped 0' out || fail "$options: $(cat out)" ;;
    esac
done
trace 1 --no-move latency ./throws:fail_now -- ./throws 3
grep -qx 'caught 3' out || fail "latency: $(cat out err)"
# What bpftrace runs has the same end.
for script in 'uretprobe:./throws:fail_now { @[kstack] = count(); }' \
    'kprobe:do_nanosleep { @k = count(); } ur:"./throws":fail_now { @ = count(); }'; do
    for engine in kernel bpftrace; do
        trace 2 --engine $engine -e "$script" -- ./throws 3
        said "$asked"
        trace 2 --engine $engine --uretprobe -e "$script" -- ./throws 3
        said 'throws throws exceptions'
    done
done
trace 2 --engine bpftrace -e 'uretprobe:./throws:fail_now { @ = count(); }' -- ./throws 3
said "$asked"
trace 2 -e 'uretprobe:./throws:fail_now { @[kstack] = count(); }' -- ./throws 3
said "$asked"

# Exits that are known have uprobes of their own, without a word. A return probe is for a function of which they are not: here one that is entered
# in its middle too. It does no harm where nothing looks at return addresses.
for options in --no-move '--engine kernel'; do
    trace 0 $options -e 'uretprobe:./plain:work { @ = sum(retval); }' -- ./plain
    grep -qx '@: 45' out || fail "$options: $(cat out err)"
    trace 1 $options -e 'uretprobe:./plain:shared { @ = sum(retval); }' -- ./plain
    grep -q '^sites 0 of 1 armed (1 has no nop10, and its code is entered elsewhere than at its begin); ' out || fail "$options: $(cat out err)"
    trace 0 $options --uretprobe -e 'uretprobe:./plain:shared { @ = sum(retval); }' -- ./plain
    grep -qx '@: 55' out || fail "$options: $(cat out err)"
done
trace 0 --no-move -e 'uprobe:./plain:work { @ = sum(arg0); }' -- ./plain
grep -qx '@: 45' out || fail "$(cat out err)"
trace 1 --engine kernel --uretprobe -e 'uretprobe:./go_program:maybe { @ = count(); }' -- ./go_program
grep -q 'a uretprobe could end the process: .*/go_program is a Go program); ' out || fail "$(cat out err)"
gcc -O2 -fcf-protection=full -Wl,-z,shstk plain.c -o marked
if readelf -n marked | matches SHSTK; then
    trace 1 --engine kernel --uretprobe -e 'uretprobe:./marked:shared { @ = count(); }' -- ./marked
    grep -q 'a uretprobe could end the process: .*/marked is marked for shadow stacks); ' out || fail "$(cat out err)"
fi

# A library that throws may come later: what was found of the process until then says nothing.
cat >late.cpp <<'END_OF_CPP'
#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>
extern "C" long shared(long);
int main()
{
    long sum = shared(1);
    void* const throws = dlopen("./libthrows.so", RTLD_NOW);
    void* const plain = dlopen("./libplain.so", RTLD_NOW);
    if (!throws || !plain)
        return 1;
    const auto work = reinterpret_cast<long (*)(long)>(dlsym(plain, "work"));
    const auto late = reinterpret_cast<long (*)(long)>(dlsym(plain, "shared"));
    while (access("./seen", F_OK) != 0) {
        work(1);
        usleep(1000);
    }
    std::printf("sum %ld\n", sum + late(2));
}
END_OF_CPP
sed 's/int main/void not_main/' throws.cpp >not_main.cpp
g++ -O2 -shared -fPIC not_main.cpp -o libthrows.so
sed 's/int main/int not_main/' plain.c >not_main.c
gcc -O2 -shared -fPIC not_main.c -o libplain.so
gcc -O2 -c not_main.c -o plain.o
g++ -O2 late.cpp plain.o -o late
rm -f seen
# Status 1: not all of them could be armed. Hits count from the begin on, since the kernel has probes on the files; so it is the report that says
# when the process was looked at.
{ timeout 60 fastsdt-trace --engine kernel --uretprobe -i 0.05 -e 'uprobe:./libplain.so:work { @work = count(); }
uretprobe:./late:shared { @first = sum(retval); } uretprobe:./libplain.so:shared { @late = sum(retval); }' -- ./late 2>err </dev/null ||
    [ $? = 1 ]; } |
    while read -r line; do
        [[ $line != 'sites 2 of 3 '* ]] || touch seen
        echo "$line"
    done >out
grep -qx '@first: 1' out || fail "$(cat out err)"
! grep -q '^@late' out || fail "$(cat out err)"
grep -q '^sites 2 of 3 armed (2 by the kernel, 1 cannot be had in the kernel: a uretprobe could end the process: .*/lib.* throws exceptions, ' \
    out || fail "$(cat out err)"
