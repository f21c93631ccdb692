#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --live on a terminal: rates, modes and arguments of a process whose values are known; elsewhere it is refused.
. "$FASTSDT_SOURCE/tests/common.sh"
need fastsdt-probe cc python3
need_uprobes
cat >args.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void f(int a, unsigned char b, long c) { FASTSDT(app, args, a, b, c, 42); }
int main(void) { puts("ready"); fflush(stdout); for (;;) { f(-5, 200, 1234567890123l); usleep(1000); } }
END
cc -O2 -I"$INCLUDE" args.c -o args
rm -f ready; mkfifo ready
./args >ready & pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
read -r line <ready
status=0; fastsdt-probe --live --pid $pid >out 2>err || status=$?
expect "no terminal: status" $status 2
grep -q terminal err || fail "it is not said that --live needs a terminal: $(cat err)"
cat >terminal.py <<'END'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 140, 0, 0))
    os.execvp("fastsdt-probe", ["fastsdt-probe", "--live", "--pid", sys.argv[1], "--seconds", "1.5"])
text = b""
try:
    while True:
        text += os.read(fd, 1000)
except OSError:
    pass
os.waitpid(pid, 0)
last = text.decode().split("\033[H\033[J")[-1].splitlines()
row = next(line for line in last if "app:args" in line).split()
print(float(row[0]) > 0, int(row[1]) > 0, row[2], *row[3:])
END
case $(python3 terminal.py $pid) in
"True True emulate app:args -5 200 1234567890123 42" | "True True optimize app:args -5 200 1234567890123 42") ;;
*) fail "the last screen: $(python3 terminal.py $pid)" ;;
esac
echo ok
