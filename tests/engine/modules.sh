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

# The same without --engine: then a preview comes first. No jump reaches from the program to the library.
"${as_user[@]}" fastsdt-trace -e 'usdt:*:lib:constructed, usdt:*:app:start { @[probe] = count(); }' -- ./linked </dev/null >out 2>err ||
    fail "linked, any engine: $(cat err out)"
expect "constructors, any engine" "$(grep '^@' out | sed 's/usdt:[^:]*://' | sort | xargs)" "@[app:start]: 1 @[lib:constructed]: 1"
"${as_user[@]}" fastsdt-trace --dry-run -e 'usdt:*:lib:constructed, usdt:*:app:start { @[probe] = count(); }' -- ./linked </dev/null >out 2>err ||
    fail "linked, --dry-run: $(cat err out)"
expect "--dry-run: stubs that come back" "$(grep -c '^0x.* can be armed$' out) $(grep -c '^    [0-9a-f]*  lahf' out)" "2 2"

# A library that is loaded later is found; the report shows when. Twice: it is unloaded in between.
mkfifo in out2 report
"${as_user[@]}" fastsdt-trace --engine user --interval 0.02 \
    -e 'usdt:*:lib:work { @n = count(); @sum = sum(arg0); } usdt:*:app:start { @start = count(); }' -- ./main <in >report 2>err &
tracer=$!
exec 3>in 5<report
reported() { # PATTERN: reads reports until one has it
    local line
    while read -r line <&5; do case $line in $1) return ;; esac; done
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

# One library goes and another comes to its place at once: each counts under its own name and with its own operands.
for name in one two; do
    number=$([ $name = one ] && echo 111 || echo 222)
    printf '#include <fastsdt.h>\nvoid work(void) { FASTSDT(plugin, %s, %s); }\n' $name $number >$name.c
    gcc -O2 -I"$INCLUDE" -shared -fPIC $name.c -o $name.so
done
cat >turns.c <<'END'
#include <dlfcn.h>
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    char line[16];
    void *library = NULL, *first = NULL;
    int turn = 0, calls[2] = {0, 0};
    FASTSDT(app, start);
    while (fgets(line, sizeof line, stdin)) { /* "next": the other library; "work": a call */
        if (line[0] == 'n') {
            if (library && turn++ >= 0)
                dlclose(library);
            library = dlopen(turn % 2 ? "./two.so" : "./one.so", RTLD_NOW);
            if (!first)
                first = dlsym(library, "work");
            puts(dlsym(library, "work") == first ? "same place" : "another place");
        } else {
            ((void (*)(void))dlsym(library, "work"))();
            ++calls[turn % 2];
        }
        fflush(stdout);
    }
    printf("calls %d %d\n", calls[0], calls[1]);
    return 0;
}
END
gcc -O2 -I"$INCLUDE" turns.c -o turns -ldl
"${as_user[@]}" fastsdt-trace --engine user --interval 0.02 \
    -e 'usdt:*:plugin:* { @[probe, arg0] = count(); } usdt:*:app:start { @start = count(); }' -- ./turns <in >report 2>err &
tracer=$!
exec 3>in 5<report
for round in 1 2 3; do
    for name in one two; do
        echo next >&3
        reported "same place"
        before=$(grep -o "plugin:$name, [0-9]*\]: .*" seen 2>/dev/null | tail -n 1 || true)
        for ((i = 0; i < 10000; ++i)); do # until it counts
            echo work >&3
            read -r line <&5
            echo "$line" >>seen
            [[ $line != *"plugin:$name, "* || ${line#*plugin:} = "${before#plugin:}" ]] || break
        done
        [ "$i" -lt 10000 ] || fail "round $round: $name never counts: $(tail -n 20 seen)"
    done
done
exec 3>&-
cat <&5 >rest
wait $tracer || fail "libraries in turn: $(cat rest err)"
read -r _ one two < <(grep '^calls' rest)
for line in "one 111 $one" "two 222 $two"; do
    read -r name number calls <<<"$line"
    counted=$(sed -n "s/^@\[.*plugin:$name, $number\]: //p" rest | tail -n 1)
    { [ "$counted" -gt 0 ] && [ "$counted" -le "$calls" ]; } || fail "$name: $counted of $calls calls: $(cat rest)"
done
expect "wrong operands" "$(grep -E '^@\[' rest | grep -vE 'one, 111\]|two, 222\]' || true)" ""

# A program that only executes a second, which executes a third: the last has the sites, armed before its constructors.
printf '#!/bin/sh\nexec nice ./linked\n' >script
chmod +x script
for command in "env A=1 nice ./linked" ./script; do
    "${as_user[@]}" fastsdt-trace --engine user -e 'usdt:*:lib:constructed, usdt:*:app:start { @[probe] = count(); }' \
        -- $command </dev/null >out 2>err ||
        fail "$command: $(cat err out)"
    expect "$command" "$(grep '^@' out | sed 's/usdt:[^:]*://' | sort | xargs)" "@[app:start]: 1 @[lib:constructed]: 1"
    grep -qx 'sites 2 of 2 armed; dropped 0' out || fail "$command: $(cat out)"
done
# While the next program is awaited, signals, stops and the end work for the program as ever. SIGCONT is sent until it has worked, since one
# that is sent before the stop is lost.
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:*:app:start { @ = count(); }' \
    -- sh -c 'trap "echo caught" USR1; kill -USR1 $$; (until [ -e continued ]; do kill -CONT $$; done) & kill -STOP $$; : >continued; wait; exec ./main' \
    </dev/null >out 2>err ||
    fail "signals: $(cat err out)"
expect "signals" "$(head -2 out | xargs)" "caught @: 1"
status=0
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:./main:app:start { @ = count(); }' -- sh -c 'kill -KILL $$' >out 2>err || status=$?
expect "killed: status" "$status" 1
grep -q 'sh was killed by signal 9' err || fail "killed: $(cat err)"

# A program that has sites of its own and executes another, which is not followed: a message says so, the status says incomplete, and the counts
# until then are there.
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
"${as_user[@]}" fastsdt-trace --engine user --no-follow -e 'usdt:*:app:start { @ = count(); }' -- ./executes <in >out 2>err & tracer=$!
exec 3>in
status=0
wait $tracer || status=$?
exec 3>&-
expect "exec: status" "$status" 1
grep -q 'has executed another program' err || fail "exec: $(cat err)"
expect "exec: hits" "$(head -1 out)" "@: 1"
