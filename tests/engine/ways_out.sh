#!/bin/bash
# Nobody reads the tool's messages, or it gets too little memory, or no thread: it ends with a status and not by a signal, and the process that
# it looked at has then what it had before.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
cat >main.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    char line[16];
    for (int n = 0; fgets(line, sizeof line, stdin);) {
        FASTSDT(app, line, ++n);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" main.c -o main
driven ./main
did
cat >run.py <<'END_OF_PYTHON'
# run.py PID TOOL...
import os, resource, subprocess, sys
pid, tool = sys.argv[1], sys.argv[2:]
script = "usdt:./main:app:line { @ = count(); }"
def state():
    with open(f"/proc/{pid}/maps") as maps:
        return [line.split()[0:2] + line.split()[5:] for line in maps]
before = state()
def check(name, status, allowed, said=""):
    if status not in allowed:
        sys.exit(f"{name}: status {status}, not of {allowed}: {said}")
    if state() != before:
        sys.exit(f"{name}: the process has other mappings: {[line for line in state() if line not in before]}")
# Each of these says something to a pipe that nobody reads; SIGPIPE is ignored, as under many a service.
for name, words in (("a wrong script", ["-e", "usdt:*:*:* { @ = nonsense(); }"]), ("no process", ["--engine", "user", "-p", "2147483647", "-e", script]),
                    ("a wrong option", ["--nonsense"]), ("nothing matches", ["--engine", "user", "-t", "0.1", "-p", pid, "-e", script.replace("line", "other")])):
    reader, writer = os.pipe()
    os.close(reader)
    check(name, subprocess.run(tool + words, stdout=subprocess.DEVNULL, stderr=writer, stdin=subprocess.DEVNULL, restore_signals=False).returncode,
          {1, 2})
    os.close(writer)
# From what the loader wants to what all of it takes.
wanted = ["--engine", "user", "-t", "0.05", "-p", pid, "-e", script]
statuses = set()
def limited(kib):
    resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))
for kib in [*range(8 << 10, 48 << 10, 4 << 10), *range(48 << 10, 70 << 10, 256), 256 << 10]:
    run = subprocess.run(tool + wanted, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, preexec_fn=lambda: limited(kib))
    check(f"ulimit -v {kib}", run.returncode, {0, 1, 2, 127}, run.stdout)
    statuses.add(run.returncode)
    if "Resource temporarily unavailable" in run.stdout and "thread" not in run.stdout:
        sys.exit(f"ulimit -v {kib}: what is not available? {run.stdout}")
    if run.returncode in (1, 2) and "fastsdt-trace: " not in run.stdout:
        sys.exit(f"ulimit -v {kib}: nothing is said: {run.stdout}")
if not {0, 2} <= statuses:
    sys.exit(f"no limit was too small, or all were: {statuses}")
END_OF_PYTHON
python3 run.py "$pid" "${as_user[@]}" fastsdt-trace >out 2>&1 3>&- 4<&- || fail "$(cat out)"
did
exec 3>&-
wait $pid || fail "the program failed"
