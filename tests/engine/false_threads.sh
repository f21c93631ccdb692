#!/bin/bash
# A process that claims to have more threads than the tool keeps, by the number that the C library has for each: the tool's memory does not
# grow with them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
cat >main.c <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) void work(long i) { sink += i; sink ^= i * 3; sink -= 7; }
int main(int argc, char** argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    volatile int* tid = NULL;
    char* thread;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    for (int offset = 0; offset < 2048; offset += 4)
        if (*(int*)(thread + offset) == getpid())
            tid = (volatile int*)(thread + offset);
    if (!tid)
        return 77;
    for (long i = 0; i < n; i++) {
        *tid = 100000 + (int)i;
        work(i);
        if (i % 500 == 0)
            usleep(1000);
    }
    *tid = getpid();
    return 0;
}
END_OF_C
gcc -O2 main.c -o main
./main || skip "this C library keeps no number of a thread"
# memory CALLS: the largest of the tool, in KiB.
memory() { python3 -c "import os, resource, subprocess, sys
run = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=open('err', 'w'))
if run.returncode not in (0, 1):
    sys.exit(f'status {run.returncode}')
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)" fastsdt-trace functions --functions work -- ./main "$1" || fail "$(cat err)"; }
some=$(memory 70000)
grep -qE '[0-9]+ events were left out: there are more threads and goroutines than 65536' err || fail "all threads are kept: $(cat err)"
more=$(memory 400000)
[ $((more - some)) -lt 8192 ] || fail "$some KiB for 70,000 numbers, $more KiB for 400,000"
