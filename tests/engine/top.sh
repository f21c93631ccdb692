#!/bin/bash
# `fastsdt-trace top`: the totals are what the program counts, times are those that it sleeps, and a terminal is left as it was. Python's
# pseudo-terminal presses the keys.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable
user_folder
cat >app.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define KEEP __attribute__((noinline, noclone))
KEEP long quick(long n) { __asm__ volatile(""); return n + 1; }
KEEP void pauses(void)
{
    struct timespec time = {0, 3000000};
    nanosleep(&time, NULL);
}
KEEP void work(long turns)
{
    for (long i = 0; i < turns; ++i) {
        FASTSDT(shop, order, i);
        if (i % 3 == 0)
            FASTSDT(shop, closed, i);
        quick(i);
    }
    pauses();
}
int main(int argc, char** argv) /* app N [lines]: N turns, or for each line of its input */
{
    char line[16];
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc == 2)
        work(atol(argv[1]));
    else
        while (fgets(line, sizeof line, stdin)) {
            work(atol(argv[1]));
            puts("did");
        }
    return 0;
}
END
gcc -O2 -I"$INCLUDE" app.c -o app

# Without a terminal: tables, the last one of the whole run.
fastsdt-trace top -- ./app 900 >out 2>err || fail "probes: $(cat out err)"
expect "probes" "$(awk '/ app:/ { print $2, $3 }' out)" "900 app:shop:order
300 app:shop:closed"
grep -qx 'sites 2 of 2 armed; dropped 0' out || fail "probes: $(cat out)"
fastsdt-trace top --functions ./app:quick,./app:pauses --probes order --sort name --rows 2 -- ./app 900 >out 2>err || fail "functions: $(cat out err)"
expect "functions" "$(awk '$NF != "more" && ($2 == 900 || $2 == 1) { print $2, $NF }' out)" "900 app:shop:order
1 pauses"
grep -qx 'and 1 more' out || fail "--rows: $(cat out)"
# It sleeps 3 ms or longer, up to the power of two at 4.2 ms; a busy machine may take more.
fastsdt-trace top --json --functions ./app:pauses -- ./app 3 >out 2>err || fail "JSON: $(cat out err)"
python3 -c "
import json, sys
lines = [json.loads(line) for line in open('out')]
row = lines[-2]['data']['rows'][0]
assert lines[-1]['type'] == 'sites' and row['name'] == 'pauses' and row['total'] == 1, lines
assert 3000000 <= row['ns'] <= row['p50_ns'] == row['p99_ns'] < 2 * row['ns'] + 2, row" || fail "JSON"

for wrong in "-e 1" "--engine kernel" "latency f" "--sort size" "--rows 0" "--functions a:b:c"; do
    status=0
    fastsdt-trace top $wrong -- ./app 1 >out 2>err || status=$?
    expect "$wrong: status" "$status" 2
    expect "$wrong: lines" "$(wc -l <err)" 1
done

# On a terminal: keys, and everything put back.
driven ./app 30 lines
cat >terminal.py <<'END'
import os, pty, re, select, sys, termios
controller, terminal = pty.openpty()
before = termios.tcgetattr(terminal)
child = os.fork()
if child == 0:
    os.close(controller)
    os.login_tty(terminal) if hasattr(os, "login_tty") else [os.setsid(), [os.dup2(terminal, fd) for fd in (0, 1, 2)]]
    os.execvp(sys.argv[1], sys.argv[1:])
shown = ""
def until(pattern):
    global shown
    while not (found := re.search(pattern, shown, re.S)):
        if not select.select([controller], [], [], 60)[0]:
            sys.exit(f"nothing matches {pattern!r} in {shown!r}")
        shown += os.read(controller, 65536).decode()
    shown = shown[found.end():]
until(r"\033\[\?1049h.*sites 2 of 2 armed")
print("armed", flush=True)
sys.stdin.readline()  # the program has worked
until(r" 30  .* app:shop:order.* 10  .* app:shop:closed")
os.write(controller, b"n")
until(r"app:shop:closed.*app:shop:order")
os.write(controller, b"p")
until("PAUSED")
os.write(controller, b"q")
until(r"\033\[\?1049l.*RATE/S.*sites 2 of 2 armed; dropped 0")
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert termios.tcgetattr(terminal) == before, "the terminal is not as it was"
END
mkfifo told go
python3 terminal.py "$(command -v fastsdt-trace)" top --interval 0.05 -p "$pid" <go >told 2>err 3>&- 4<&- &
screen=$!
exec 6>go 7<told
read -r line <&7 || fail "on a terminal: $(cat err)"
expect "on a terminal" "$line" armed
did
echo >&6
wait $screen || fail "on a terminal: $(cat err)"
exec 3>&-
wait "$pid" || fail "the program failed"
