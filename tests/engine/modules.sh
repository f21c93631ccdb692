#!/bin/bash
# Libraries that come and go while a process is traced, and a program that executes another.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
user_folder
cat >library.c <<'END'
#include <fastsdt.h>
#include <stddef.h>
__attribute__((constructor)) static void start(void) { FASTSDT(lib, constructed); }
void work(int n) { FASTSDT(lib, work, n); }
END
cat >main.c <<'END'
#include <dlfcn.h>
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    char line[16];
    FASTSDT(app, start);
    while (fgets(line, sizeof line, stdin)) { /* open, a line, work, close */
        void* library = dlopen("./library.so", RTLD_NOW);
        void (*work)(int) = library ? (void (*)(int))dlsym(library, "work") : NULL;
        if (!work || !fgets(line, sizeof line, stdin))
            return 1;
        for (int i = 1; i <= 100; ++i)
            work(i);
        dlclose(library);
        puts("closed");
        fflush(stdout);
    }
    return 0;
}
END
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 -I"$INCLUDE" main.c -o main -ldl
gcc -O2 -I"$INCLUDE" main.c -o linked -Wl,--no-as-needed ./library.so
chown -R 65534:65534 . 2>/dev/null || true

# Libraries that the program was linked with are armed before their constructors.
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:*:lib:constructed, usdt:*:app:start { @[probe] = count(); }' -- ./linked </dev/null >out 2>err ||
    fail "linked: $(cat err out)"
expect "constructors" "$(grep '^@' out | sed 's/usdt:[^:]*://' | sort | xargs)" "@[app:start]: 1 @[lib:constructed]: 1"

# The same without a word on the engine, which looks at what arming would come to first; a jump does not reach from one to the other.
"${as_user[@]}" fastsdt-trace -e 'usdt:*:lib:constructed, usdt:*:app:start { @[probe] = count(); }' -- ./linked </dev/null >out 2>err ||
    fail "linked, any engine: $(cat err out)"
expect "constructors, any engine" "$(grep '^@' out | sed 's/usdt:[^:]*://' | sort | xargs)" "@[app:start]: 1 @[lib:constructed]: 1"
"${as_user[@]}" fastsdt-trace --dry-run -e 'usdt:*:lib:constructed, usdt:*:app:start { @[probe] = count(); }' -- ./linked </dev/null >out 2>err ||
    fail "linked, --dry-run: $(cat err out)"
expect "--dry-run: stubs that come back" "$(grep -c '^0x.* can be armed$' out) $(grep -c '^    [0-9a-f]*  lahf' out)" "2 2"

# One that is loaded later is found; the report tells when. Twice, since it is unloaded in between.
mkfifo in out2 report
"${as_user[@]}" fastsdt-trace --engine user --interval 0.02 -e 'usdt:*:lib:work { @n = count(); @sum = sum(arg0); } usdt:*:app:start { @start = count(); }' -- ./main <in >report 2>err &
tracer=$!
exec 3>in 5<report
reported() { # PATTERN: reads reports until one has it
    local line
    # shellcheck disable=SC2053 # a pattern
    while read -r line <&5; do [[ $line != $1 ]] || return 0; done
    fail "no report has $1: $(cat err)"
}
for _ in 1 2; do
    reported "sites 1 of 1 armed*"
    echo open >&3
    reported "sites 2 of 2 armed*"
    echo work >&3
    reported "closed"
done
exec 3>&-
cat <&5 >rest
wait $tracer || fail "the status: $(cat rest err)"
expect "hits" "$(tail -5 rest | grep -E '^@(n|sum|start):' | xargs)" "@n: 200 @start: 1 @sum: 10100"

# A program that only executes another, and that one another: the last has the sites, armed before its constructors.
printf '#!/bin/sh\nexec nice ./linked\n' >script
chmod +x script
for command in "env A=1 nice ./linked" ./script; do
    # shellcheck disable=SC2086 # words
    "${as_user[@]}" fastsdt-trace --engine user -e 'usdt:*:lib:constructed, usdt:*:app:start { @[probe] = count(); }' -- $command </dev/null >out 2>err ||
        fail "$command: $(cat err out)"
    expect "$command" "$(grep '^@' out | sed 's/usdt:[^:]*://' | sort | xargs)" "@[app:start]: 1 @[lib:constructed]: 1"
    grep -qx 'sites 2 of 2 armed; dropped 0' out || fail "$command: $(cat out)"
done
# While it is awaited, signals and stops are the program's own as ever, and so is its end. SIGCONT is sent until it has helped: one sent
# before the stop is lost.
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:*:app:start { @ = count(); }' -- sh -c 'trap "echo caught" USR1; kill -USR1 $$; (until [ -e continued ]; do kill -CONT $$; done) & kill -STOP $$; : >continued; wait; exec ./main' </dev/null >out 2>err ||
    fail "signals: $(cat err out)"
expect "signals" "$(head -2 out | xargs)" "caught @: 1"
status=0
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:./main:app:start { @ = count(); }' -- sh -c 'kill -KILL $$' >out 2>err || status=$?
expect "killed: status" "$status" 1
grep -q 'sh was killed by signal 9' err || fail "killed: $(cat err)"

# One that has sites of its own and executes another: said, and not complete. What was counted until then is there.
cat >executes.c <<'END'
#include <fastsdt.h>
#include <unistd.h>
int main(void)
{
    FASTSDT(app, start);
    return execl("./main", "main", (char*)0);
}
END
gcc -O2 -I"$INCLUDE" executes.c -o executes
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:*:app:start { @ = count(); }' -- ./executes <in >out 2>err & tracer=$!
exec 3>in
status=0
wait $tracer || status=$?
exec 3>&-
expect "exec: status" "$status" 1
grep -q 'has executed another program' err || fail "exec: $(cat err)"
expect "exec: hits" "$(head -1 out)" "@: 1"
