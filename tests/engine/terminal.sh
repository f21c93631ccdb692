#!/bin/bash
# On a terminal one line says what is armed, before anything is reported; elsewhere nothing more is printed than before.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable
cat >main.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    char line[16];
    for (int n = 0; fgets(line, sizeof line, stdin);) {
        FASTSDT(app, line, ++n);
        FASTSDT(app, other, n);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" main.c -o main
cat >look.py <<'END_OF_PYTHON'
# look.py TOOL: three processes, traced with errors to a terminal, and once more with errors to a pipe; and a COMMAND that ends by itself.
import os, pty, signal, subprocess, sys
tool = sys.argv[1]
script = 'usdt:./main:app:* { @ = count(); } interval:ms:10 { printf("armed\\n"); }'
def run(words, terminal, until):
    if terminal:
        ours, theirs = pty.openpty()
    else:
        ours, theirs = os.pipe()
    process = subprocess.Popen([tool, "--engine", "user", "-e", script] + words,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    if until:
        while process.stdout.readline() != "armed\n":
            if process.poll() is not None:
                sys.exit(f"the tracer ended: {os.read(ours, 4096)}")
        process.send_signal(signal.SIGINT)
    process.stdout.read()
    status = process.wait()
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError: # how a terminal ends
        pass
    os.close(ours)
    return status, said.decode().replace("\r", "")
processes = [subprocess.Popen(["./main"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
for process in processes:
    process.stdin.write("x\n")
    process.stdin.flush()
    assert process.stdout.readline() == "did\n"
every = [word for process in processes for word in ("-p", str(process.pid))]
def expect(name, got, wanted):
    if got != wanted:
        sys.exit(f"{name}: {got!r}, not {wanted!r}")
expect("three, on a terminal", run(every, True, True), (0, "fastsdt-trace: 6 of 6 sites armed in 3 processes; Ctrl-C ends\n"))
expect("one, on a terminal", run(every[:2], True, True), (0, "fastsdt-trace: 2 of 2 sites armed; Ctrl-C ends\n"))
expect("a second long", run(every[:2] + ["-t", "0.1"], True, False), (0, "fastsdt-trace: 2 of 2 sites armed\n"))
expect("a command", run(["--", "./main"], True, False), (0, "fastsdt-trace: 2 of 2 sites armed\n"))
expect("no terminal", run(every, False, True), (0, ""))
for process in processes:
    process.stdin.close()
    expect("the program", process.wait(), 0)
END_OF_PYTHON
python3 look.py fastsdt-trace || fail "see above"
