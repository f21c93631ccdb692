#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Libraries that are loaded while a process is traced: their sites are armed before their constructors run, whoever loads
# them and how often. A tracer that does not answer, or is killed, holds nobody up.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
user_folder
cat >library.c <<'END2'
#include <fastsdt.h>
#include <stddef.h>
__attribute__((constructor)) static void start(void) { FASTSDT(lib, constructed, 1); }
__attribute__((destructor)) static void stop(void) { FASTSDT(lib, destroyed, 1); }
void work(int n) { FASTSDT(lib, work, n); }
END2
cat >main.c <<'END2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fastsdt.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static const char* of_thread[] = {"./a.so", "./b.so"};
static int rounds;
static void* load(void* which)
{
    for (int i = 0; i < rounds; ++i) {
        void* library = dlopen((const char*)which, RTLD_NOW);
        void (*work)(int) = library ? (void (*)(int))dlsym(library, "work") : NULL;
        if (!work)
            abort();
        for (int n = 1; n <= 10; ++n)
            work(n);
        dlclose(library);
    }
    return NULL;
}
int main(int argc, char** argv)
{
    char line[16];
    pthread_t threads[2];
    FASTSDT(app, start);
    if (argc > 2) { /* "wait": for a line */
        printf("ready %lx\n", (unsigned long)_r_debug.r_brk);
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            return 1;
    }
    rounds = atoi(argv[1]);
    for (int i = 0; i < 2; ++i)
        pthread_create(&threads[i], NULL, load, (void*)of_thread[i]);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    FASTSDT(app, end);
    return 0;
}
END2
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o a.so
cp a.so b.so
gcc -O2 -pthread -I"$INCLUDE" main.c -o main -ldl
chown -R 65534:65534 . 2>/dev/null || true
script='usdt:*:lib:constructed { @up = sum(arg0); } usdt:*:lib:destroyed { @down = sum(arg0); } usdt:*:lib:work { @n = count(); @sum = sum(arg0); } usdt:./main:app:start, usdt:./main:app:end { @main = count(); }'

# Each of two threads loads and unloads its library: everything is counted, in a program that was started ...
rounds=30
"${as_user[@]}" fastsdt-trace --engine user -e "$script" -- ./main $rounds >out 2>err || fail "started: $(cat err out)"
expected="@down: $((2 * rounds)) @main: 2 @n: $((20 * rounds)) @sum: $((110 * rounds)) @up: $((2 * rounds))"
expect "started" "$(grep '^@' out | xargs)" "$expected"
# ... and in one that ran already.
mkfifo in
: >ready
"${as_user[@]}" ./main $rounds wait <in >ready &
program=$!
exec 3>in
until grep -q "^ready " ready; do kill -0 $program; done
mkfifo report
"${as_user[@]}" fastsdt-trace --engine user --interval 0.02 -e "$script" -p $program >report 2>err &
tracer=$!
exec 5<report
while read -r line <&5; do [[ $line != sites* ]] || break; done
echo go >&3
cat <&5 >out
wait $program || fail "attached: the program"
wait $tracer || fail "attached: $(cat err out)"
expect "attached" "$(tail -7 out | grep '^@' | xargs)" "${expected/main: 2/main: 1}"
exec 3>&- 5<&-

# The tracer is killed, and another time only stopped: the program comes to its end all the same.
for signal in KILL STOP; do
    : >ready
    "${as_user[@]}" ./main 2000 wait <in >ready &
    program=$!
    exec 3>in
    until grep -q "^ready " ready; do kill -0 $program; done
    "${as_user[@]}" fastsdt-trace --engine user --interval 0.02 -e "$script" -p $program >report 2>err &
    tracer=$!
    exec 5<report
    while read -r line <&5; do [[ $line != sites* ]] || break; done
    kill -$signal $tracer
    echo go >&3
    wait $program || fail "$signal: the program"
    kill -CONT $tracer 2>/dev/null || true
    cat <&5 >out
    status=0
    wait $tracer || status=$?
    exec 3>&- 5<&-
    if [ $signal = STOP ]; then
        expect "$signal: the status" $status 1 # what it did not see is not complete
    fi
done

# What a killed tracer left in the dynamic linker goes with the next.
: >ready
"${as_user[@]}" ./main 1 wait <in >ready &
program=$!
exec 3>in
until grep -q "^ready " ready; do kill -0 $program; done
linker() { # the bytes of the function that the dynamic linker calls for debuggers
    python3 -c 'import sys; f = open(f"/proc/{sys.argv[1]}/mem", "rb", 0); f.seek(int(sys.argv[2], 16)); print(f.read(16).hex())' \
        $program "$(sed -n 's/^ready //p' ready)"
}
before=$(linker)
"${as_user[@]}" fastsdt-trace --engine user --interval 0.02 -e "$script" -p $program >report 2>err &
tracer=$!
exec 5<report
while read -r line <&5; do [[ $line != sites* ]] || break; done
[ "$(linker)" != "$before" ] || fail "the dynamic linker is not watched"
kill -KILL $tracer
wait $tracer || true
exec 5<&-
[ "$(linker)" != "$before" ] || fail "a killed tracer puts nothing back"
"${as_user[@]}" fastsdt-trace --engine user -t 0.01 -e "$script" -p $program >out 2>err || [ $? = 1 ] || fail "the next: $(cat err)"
expect "the dynamic linker's function" "$(linker)" "$before"
echo go >&3
wait $program || fail "the program at the end"
