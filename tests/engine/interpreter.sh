#!/bin/bash
# One script on both engines measures the procedures of an interpreter: the time that each takes in each thread, by Tcl's probes
# (proc__entry, proc__return) in a library. The process runs already.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable
cat >interpreter.c <<'END'
#include <fastsdt.h>
/* As in generic/tclProc.c of Tcl: name, number of words, words; name, return code. */
int run(const char* name, int words, int code)
{
    FASTSDT(tcl, proc__entry, name, words, &name);
    for (volatile int i = 0; i < 100; ++i) {}
    FASTSDT(tcl, proc__return, name, code);
    return code;
}
END
cat >program.c <<'END'
#include <pthread.h>
#include <stdio.h>
int run(const char* name, int words, int code);
static void* work(void* unused)
{
    for (int i = 0; i < 1000; ++i)
        run(i % 10 ? "often" : "rarely", i % 3, 0);
    return unused;
}
int main(void) /* a line, 4 threads, an answer */
{
    puts("ready");
    fflush(stdout);
    for (char line[8]; fgets(line, sizeof line, stdin);) {
        pthread_t threads[4];
        for (int i = 0; i < 4; ++i)
            pthread_create(&threads[i], NULL, work, NULL);
        for (int i = 0; i < 4; ++i)
            pthread_join(threads[i], NULL);
        puts("done");
        fflush(stdout);
    }
    return 0;
}
END
gcc -O2 -I"$INCLUDE" -shared -fPIC interpreter.c -o libinterpreter.so
gcc -O2 -pthread program.c -o program -L. -linterpreter -Wl,-rpath,"$PWD"
rm -f in out report && mkfifo in out report
./program <in >out &
pid=$!
exec 3>in 4<out
read -r line <&4
for engine in $(engines); do
    fastsdt-trace --engine $engine -p "$pid" -e 'interval:s:1 { printf("armed\n"); }
        usdt:*:tcl:proc__entry { @s[tid] = nsecs; @calls[str(arg0), arg1] = count(); }
        usdt:*:tcl:proc__return /@s[tid]/ { @us = hist((nsecs - @s[tid]) / 1000); delete(@s[tid]); }' >report 2>err 3>&- 4<&- &
    tracer=$!
    exec 5<report
    until read -r line <&5 && [ "$line" = armed ]; do [ -n "$line" ] || kill -0 $tracer 2>/dev/null || fail "--engine $engine: $(cat err)"; done
    echo >&3
    read -r line <&4
    expect "--engine $engine: the program" "$line" "done"
    kill -INT $tracer
    cat <&5 >maps
    wait $tracer || fail "--engine $engine: $(cat err maps)"
    expect "--engine $engine: times" \
        "$(sed -n '/^@us:/,/^$/s/^\[.*) *\([0-9]*\) |.*/\1/p; /^@us:/,/^$/s/^\[[0-9]*\] *\([0-9]*\) |.*/\1/p' maps | awk '{ n += $1 } END { print n }')" 4000
    # i % 3 for i from 0 to 999, those that 10 divides and the others apart; four threads
    python3 - >wanted <<'END'
from collections import Counter
calls = Counter(("often" if i % 10 else "rarely", i % 3) for i in range(1000))
print("\n".join(sorted(f"@calls[{name}, {words}]: {4 * n}" for (name, words), n in calls.items())))
END
    expect "--engine $engine: calls" "$(grep '^@calls' maps | sort)" "$(sort wanted)"
    ! grep -q '^@s\[' maps || fail "--engine $engine: a call is left: $(cat maps)"
done
exec 3>&-
wait "$pid" || fail "the program ended with $?"
