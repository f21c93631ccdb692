#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traces a server of 100 processes (tree.c) again and again, by one tracer after the other, a tenth of which are killed:
`tree.py ROUNDS SEED`. Afterwards each process has to be as it was, and none may have seen a wrong result or an EINTR."""
import itertools
import os
import random
import re
import signal
import subprocess
import sys

from traced import Traced, difference

VALUES = ["count()", "sum(arg0)", "hist(arg2)", "max(arg2)", "stats(arg0)"]
KEYS = ["", "[arg0]", "[pid]", "[str(arg1)]"]
SCRIPTS = ["usdt:*:tree:serve { @" + key + " = " + value + "; }" for key, value in itertools.product(KEYS, VALUES)]


def die(text):
    sys.exit(f"tree.py: {text}")


def ask(server, line):
    server.stdin.write(line + "\n")
    server.stdin.flush()
    answer = server.stdout.readline().split()
    if not answer:
        die(f"the server ended with {server.wait()}")
    return answer[1:]


def quiet(server):
    asked, wrong, active = map(int, ask(server, "quiet"))
    if wrong:
        die(f"{wrong} results were wrong, or were EINTR, after {asked} requests")
    return asked, active


def trace(server, way, script, killed):
    """Until the first report has come, so that all processes are armed."""
    who = ["-p", str(server.pid), "--follow"] if way == "tree" else ["--exe", "./tree"]
    command = ["fastsdt-trace", "--engine", "user", *who, "-e", script + ' interval:ms:1 { printf("armed\\n"); exit(); }'
               if not killed else script + ' interval:ms:1 { printf("armed\\n"); }']
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tracer:
        first = tracer.stdout.readline()
        if killed:
            tracer.send_signal(signal.SIGKILL)
        rest, errors = tracer.communicate(timeout=120)
        if first != "armed\n" or tracer.returncode != (-signal.SIGKILL if killed else 0):
            die(f"{' '.join(command)}: {tracer.returncode}, {first}{rest}{errors}")
        if not killed and not re.search(r"^sites (\d+) of \1 armed; dropped 0; processes 100", rest, re.M):
            die(f"{' '.join(command)}: {rest}{errors}")


def main():
    rounds, seed = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    with subprocess.Popen(["./tree"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        ask(server, "go")
        quiet(server)
        with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as children:
            processes = [Traced(server.pid)] + [Traced(int(pid)) for pid in children.read().split()]
        if len(processes) != 100:
            die(f"{len(processes)} processes, not 100")
        trace(server, "tree", SCRIPTS[0], False)
        before = [process.state() for process in processes]
        ask(server, "go")
        for i in range(rounds):
            trace(server, r.choice(["tree", "exe"]), SCRIPTS[i % len(SCRIPTS)], i % 10 == 5)
        trace(server, "exe", SCRIPTS[0], False) # clears what a killed one left
        asked, active = quiet(server)
        for process, state in zip(processes, before):
            if differs := difference(state, process.state()):
                die(f"process {process.pid} after {rounds} rounds of seed {seed}: {differs}")
        if active:
            die(f"{active} semaphores are still up")
        zombies = subprocess.run(["ps", "-o", "stat=", "--ppid", str(os.getpid())], stdout=subprocess.PIPE, text=True, check=True).stdout
        if "Z" in zombies:
            die(f"zombies: {zombies}")
        server.stdin.close()
        if server.wait() != 0:
            die(f"the server ended with {server.returncode}")
    print(f"{rounds} tracers of seed {seed}, {asked} requests to 100 processes: all are as they were")


main()
