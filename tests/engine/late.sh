#!/bin/bash
# A library that is loaded while the tracer does not answer: what it counts there is said to be incomplete, and since when it is counted.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >library.c <<'END_OF_C'
#include <fastsdt.h>
void work(int n) { FASTSDT(lib, work, n); }
END_OF_C
cat >main.c <<'END_OF_C'
#include <dlfcn.h>
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    char line[16];
    void (*work)(int) = NULL;
    FASTSDT(app, start);
    while (fgets(line, sizeof line, stdin)) {
        void* library = work ? NULL : dlopen("./library.so", RTLD_NOW);
        if (library)
            work = (void (*)(int))dlsym(library, "work");
        if (line[0] != 'b' && work)
            work(1);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 -I"$INCLUDE" main.c -o main -ldl
driven ./main
"${as_user[@]}" fastsdt-trace --engine user --interval 0.02 -e 'usdt:*:lib:work { @n = count(); } usdt:./main:app:start { @start = count(); }' -p $pid >out 2>err 3>&- 4<&- &
tracer=$!
until grep -q '^sites 1 of 1 armed' out; do kill -0 $tracer || fail "$(cat err)"; done
kill -STOP $tracer
did # it loads the library, and waits for the tracer a second at most
kill -CONT $tracer
until grep -q '^@n: [1-9]' out; do did; done
kill -INT $tracer
status=0
wait $tracer || status=$?
expect "status" "$status" 1
tail -1 out | matches -E '^sites 2 of 2 armed \(1 only since [0-9.]+ s after the start\); dropped 0$' || fail "$(tail -3 out)"
grep -q 'the process loaded libraries while this tool did not answer' err || fail "$(cat err)"
exec 3>&-
wait $pid || fail "the program failed"
