#!/bin/bash
# What comes in between: a debugger, another tracer, a signal, a forked child, the end. The report comes, says what it lacks, and the
# sites are the file's again; where they cannot be, it says so.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >library.c <<'END'
#include <fastsdt.h>
void work(int n) { FASTSDT(t, work, n); }
END
cat >app.c <<'END'
#include <dlfcn.h>
#include <fastsdt.h>
#include <stdio.h>
#include <unistd.h>
int main(void) /* a letter for each line, and an answer */
{
    void (*work)(int) = NULL;
    int number = 0;
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    for (char line[16]; fgets(line, sizeof line, stdin); puts("did"))
        switch (line[0]) {
        case 'h': FASTSDT(t, here, ++number); break;
        case 'l': work = (void (*)(int))dlsym(dlopen("./library.so", RTLD_NOW), "work"); break;
        case 'w': work(++number); break;
        case 'v': /* a child that has the memory, until a byte comes */
            puts("vfork");
            if (vfork() == 0) {
                char byte;
                _exit(read(0, &byte, 1) < 0);
            }
            break;
        case 'x': execl("./app", "app", "again", (char*)NULL); return 2;
        }
    return 0;
}
END
cat >debugger.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
int main(int argc, char** argv) /* traces a process until its input ends */
{
    if (argc < 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, 0) < 0)
        return 1;
    puts("traces");
    fflush(stdout);
    return getchar() == 'x';
}
END
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 -I"$INCLUDE" app.c -o app -ldl
gcc -O2 debugger.c -o debugger
mkfifo in out report second messages held hold
chown -R 65534:65534 . 2>/dev/null || true

turn() { # turn LETTER N: N lines, N answers
    local i line
    for ((i = 0; i < $2; ++i)); do echo "$1" >&3 && read -r line <&4; done
    expect "the program" "$line" "did"
}
jumps() {
    fastsdt-check --pid "$pid" --json >check.json 2>check.err || true # findings are none of ours
    grep -c '"change": "jump"' check.json || true
}
# until_line DESCRIPTOR TRACER PATTERN: reads reports until one has it.
until_line() {
    local line
    until read -r line <&"$1" && case $line in $3) ;; *) false ;; esac; do [ -n "$line" ] || kill -0 "$2" 2>/dev/null || fail "no report has $3"; done
}
debug() { # until exec 7>&-
    "${as_user[@]}" ./debugger "$pid" <hold >held 3>&- 4<&- 5<&- 6<&- &
    debugger=$!
    exec 7>hold 8<held
    read -r line <&8
    expect "the debugger" "$line" traces
}
undebug() {
    exec 7>&- 8<&-
    wait $debugger
}

"${as_user[@]}" ./app <in >out &
pid=$!
exec 3>in 4<out
turn h 1

# Every signal that ends a tracer.
for signal in INT TERM HUP QUIT USR2 ALRM VTALRM PROF IO XCPU RTMIN RTMAX; do
    attach 'usdt:./app:t:here { @n = count(); }'
    turn h 2
    kill -$signal $tracer
    report
    expect "SIG$signal" "$status $(cat maps)" "0 @n: 2
sites 1 of 1 armed; dropped 0"
    expect "SIG$signal: sites that are still armed" "$(jumps)" 0
done

# A debugger comes before the library does. It is said once, and tried again; the report says since when the library's site counts.
"${as_user[@]}" fastsdt-trace --engine user -p $pid --interval 0.05 -e 'usdt:*:t:* { @[probe] = count(); }' >report 2>messages 3>&- 4<&- &
tracer=$!
exec 5<report 6<messages
until_line 5 $tracer 'sites 1 of 1 armed; dropped 0'
debug
turn l 1
read -r line <&6
expect "a debugger" "$line" \
    "fastsdt-trace: process $pid: process $debugger (debugger) traces it, and only one can; detach that first; it is tried again"
turn h 3
undebug
until_line 5 $tracer 'sites 2 of 2 armed (1 only since *'
turn w 4
kill -INT $tracer
cat <&5 >maps
status=0
wait $tracer || status=$?
expect "after a debugger: status, further messages" "$status $(cat <&6)" "1 "
grep -qx '@\[usdt:.*:t:here\]: 3' maps || fail "after a debugger: $(cat maps)"
grep -qx '@\[usdt:.*:t:work\]: 4' maps || fail "after a debugger: $(cat maps)"
tail -1 maps | matches -E '^sites 2 of 2 armed \(1 only since [0-9]+\.[0-9] s after the start\); dropped 0$' || fail "after a debugger: $(cat maps)"
expect "after a debugger: sites that are still armed" "$(jumps)" 0

# A debugger is there at the end: maps and END come, and it is said that the sites stay.
attach 'usdt:./app:t:here { @n = count(); } END { printf("end\n"); }'
turn h 2
debug
kill -INT $tracer
report
expect "a debugger at the end" "$status $(cat maps)" "1 end
@n: 2
sites 1 of 1 armed; dropped 0"
grep -qx "fastsdt-trace: the sites stay armed, and nobody reads their counts: process $pid: process $debugger (debugger) traces it, and only one can; detach that first" err ||
    fail "a debugger at the end: $(cat err)"
[ "$(jumps)" -gt 0 ] || fail "a debugger at the end: no site is armed"
undebug

# Another tracer has the site, and goes: the second says since when it counts.
attach 'usdt:./app:t:here { @n = count(); }'
"${as_user[@]}" fastsdt-trace --engine user -p $pid --interval 0.05 -e 'usdt:./app:t:here { @n = count(); }' >second 2>second.err 3>&- 4<&- 5<&- &
later=$!
exec 6<second
until_line 6 $later "sites 0 of 1 armed (1 taken by tracer $tracer); dropped 0"
turn h 5
kill -INT $tracer
report
expect "the first tracer" "$status $(head -1 maps)" "0 @n: 5"
until_line 6 $later 'sites 1 of 1 armed (1 only since *'
turn h 3
kill -INT $later
cat <&6 >maps
status=0
wait $later || status=$?
expect "the second tracer" "$status $(grep @ maps | tail -1)" "1 @n: 3"
tail -1 maps | matches -E '^sites 1 of 1 armed \(1 only since [0-9]+\.[0-9] s after the start\); dropped 0$' || fail "the second tracer: $(cat maps)"

# A child by vfork() has the memory: nothing can be changed.
attach 'usdt:./app:t:here { @n = count(); }'
echo v >&3
read -r line <&4
expect "vfork" "$line" vfork
kill -INT $tracer
report
expect "vfork: status" "$status" 1
grep -q '^fastsdt-trace: the sites stay armed, and nobody reads their counts: ' err || fail "vfork: $(cat err)"
printf x >&3
read -r line <&4
expect "vfork: the parent" "$line" "did"

# The next run clears that away. The process executes another program: the sites are gone, and nothing is said of them.
attach 'usdt:./app:t:here { @n = count(); }'
turn h 1
echo x >&3
report
expect "exec" "$status $(head -1 maps)" "1 @n: 1"
expect "exec: messages" "$(cat err)" "fastsdt-trace: the process has executed another program, and is not traced any more; name that program after --"

# A process that ends before the time is over.
turn h 1
attach 'usdt:./app:t:here { @n = count(); }' --duration 60
turn h 1
exec 3>&-
wait $pid || fail "the program ended with $?"
report
expect "an early end" "$status $(head -1 maps)" "0 @n: 1"
matches -xE "fastsdt-trace: process $pid ended after [0-9]+\.[0-9] s" <err || fail "an early end: $(cat err)"
