#!/bin/bash
# A process with stacks in hundreds of files, one after the other: the tracer has few of them open at a time, and names them all.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
cat >part.c <<'END_OF_C'
void hit(long n);
__attribute__((noinline)) void part(long n) { hit(n); __asm__ volatile(""); }
END_OF_C
cat >main.c <<'END_OF_C'
#include <dlfcn.h>
#include <fastsdt.h>
#include <stdio.h>
static __attribute__((noinline)) void inner(long n) { FASTSDT(app, hit, n); __asm__ volatile(""); }
__attribute__((noinline)) void hit(long n) { inner(n); __asm__ volatile(""); } /* its frame is not seen: inner() has none where the probe is */
int main(void) /* "l N": parts are loaded up to the N-th, "c N": and called */
{
    char line[32], name[64];
    static void* parts[1000];
    int count = 0, number;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "l %d", &number) == 1)
            for (; count < number; ++count) {
                snprintf(name, sizeof name, "./part%d.so", count);
                parts[count] = dlopen(name, RTLD_NOW);
            }
        if (sscanf(line, "c %d", &number) == 1)
            for (int i = 0; i < number && parts[i]; ++i)
                ((void (*)(long))dlsym(parts[i], "part"))(i);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
count=300
gcc -O2 -fno-omit-frame-pointer -I"$INCLUDE" -rdynamic main.c -o main -ldl
gcc -O2 -fno-omit-frame-pointer -shared -fPIC part.c -o part.so
for number in $(seq 0 $((count - 1))); do cp part.so "part$number.so"; done
driven ./main
tell() { echo "$1" >&3 && read -r line <&4 && expect "the program" "$line" did; }
tell ""
attach 'usdt:./main:app:hit { @[ustack(3)] = count(); }' --interval 0.1
before=$(ls "/proc/$tracer/fd" | wc -l)
tell "l $count"
tell "c $count"
until read -r line <&5 && [[ $line == *part+* ]]; do kill -0 $tracer || fail "no stack: $(cat err)"; done
most=$(ls "/proc/$tracer/fd" | wc -l)
[ $((most - before)) -lt 200 ] || fail "$count files are mapped, and $most descriptors are open ($before before)"
kill -INT $tracer
report
# All of one name: they are one entry.
expect "the last report" "$(tail -n 6 maps | sed 's/+[0-9]*$//; s/^ *//; $d' | xargs)" "@[ inner part main ]: $count"
exec 3>&- 5<&-
wait $pid || fail "the program failed"
