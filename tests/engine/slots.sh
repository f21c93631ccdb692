#!/bin/bash
# Threads that come and go, each with a thread pointer of its own: more than there are slots for. Slots of ended ones are used again.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >threads.c <<'END_OF_C'
#include <fastsdt.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
static void* hit(void* number)
{
    FASTSDT(t, hit, (long)number);
    return NULL;
}
int main(void)
{
    char line[8];
    long number = 0;
    while (fgets(line, sizeof line, stdin)) {
        for (int i = 0; i < 300; ++i) {
            pthread_t thread;
            pthread_attr_t attributes;
            void* const stack = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            pthread_attr_init(&attributes);
            pthread_attr_setstack(&attributes, stack, 1 << 17);
            if (stack == MAP_FAILED || pthread_create(&thread, &attributes, hit, (void*)++number))
                return 1;
            pthread_join(thread, NULL);
        }
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -pthread -I"$INCLUDE" threads.c -o threads
driven ./threads
attach 'usdt:./threads:t:hit { @ = count(); @sum = sum(arg0); @of[tid] = count(); @last[tid] = arg0; } interval:ms:10 { print(@); }'
# The tool looks ten times a second. Two of its prints behind a turn it has looked since.
turns=10
for turn in $(seq $turns); do
    did
    for _ in $(seq 25); do
        read -r line <&5
        while [[ $line != @:* ]]; do read -r line <&5; done
    done
done
kill -INT $tracer
report
expect "status: $(cat maps err)" "$status" 0
expect "hits" "$(grep -E '^@(sum)?: ' maps | tail -2 | xargs)" "@: $((300 * turns)) @sum: $((300 * turns * (300 * turns + 1) / 2))"
grep -q '^sites 1 of 1 armed; dropped 0$' maps || fail "$(tail -1 maps)"
exec 3>&-
wait $pid || fail "the program failed"
