#!/bin/bash
# A program gives its code back to the kernel (madvise), and has the file's again: the jumps are gone. They are made again, and it is said that
# hits are missing, and since when they are counted.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >main.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
__attribute__((noinline)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 31 + 7; }
__attribute__((noinline, aligned(4096))) void hit(long n) { FASTSDT(app, hit, n); }
int main(void)
{
    char line[16];
    long n = 0;
    uintptr_t first = (uintptr_t)&work / 4096 * 4096, last = (uintptr_t)&hit / 4096 * 4096;
    if (first > last) {
        uintptr_t other = first;
        first = last;
        last = other;
    }
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 'm' && madvise((void*)first, last + 4096 - first, MADV_DONTNEED) != 0)
            return 2;
        n = work(n);
        hit(n);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" main.c -o main
driven ./main
text >text.before
attach 'uprobe:./main:work { @work = count(); } usdt:./main:app:hit { @hit = count(); }'
did
echo m >&3 && read -r line <&4 && expect "the program" "$line" did
text | cmp -s - text.before || fail "the text is not the file's again: madvise did nothing"
until grep -q 'jumps were gone' err; do kill -0 $tracer || fail "nothing is said: $(cat err)"; done # behind making them again
! text | cmp -s - text.before || fail "no jump is made again: $(cat err)"
kill -INT $tracer
report
expect "status" "$status" 1
tail -n 1 maps | matches -E '^sites 2 of 2 armed \(2 only since [0-9.]+ s after the start\); dropped 0$' || fail "$(tail -n 3 maps)"
text | cmp - text.before || fail "the text is not as it was"
exec 3>&-
wait $pid || fail "the program failed"
