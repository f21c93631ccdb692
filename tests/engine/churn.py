#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traces the program churn (churn.c), in which everything comes and goes, again and again by one or two tracers, many of which are killed
at a moment of their own: `churn.py ROUNDS SEED`, or `churn.py SECONDSs SEED`. Afterwards the process has to be as it was: the text of
each file that it has mapped, the vdso, semaphores, mappings, memory; and the program says whether all of its sums were right."""
import random
import signal
import subprocess
import sys
import time

from traced import Traced, difference

SCRIPTS = [
    "usdt:*:churn:pass { @ = count(); }",
    "usdt:*:churn:* { @[probe] = count(); }",
    "usdt:*:churn:pass { @[arg0 % 1000] = count(); @h = hist(arg2); }",
    "usdt:*:churn:pass { @[str(arg1)] = sum(arg0); @t[tid] = count(); }",
    "usdt:*:churn:counted /arg0 == 3/ { @n = count(); @last = nsecs; }",
    "usdt:*:churnlib:* { @[arg0] = count(); } usdt:*:churn:pass { @s = stats(arg2); }",
    "usdt:*:churn:pass { @x[tid] = nsecs; } usdt:*:churn:counted /@x[tid]/ { @d = hist(nsecs - @x[tid]); delete(@x[tid]); }",
    "usdt:*:churn:pass { @k[arg0 % 64] = count(); } interval:ms:5 { print(@k, 1); clear(@k); }",
]


def die(text):
    sys.exit(f"churn.py: {text}")


class Program(Traced):
    def __init__(self):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(["./churn", "./churnlib.so"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        super().__init__(self.process.pid)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            die(f"the program ended with {self.process.wait()}")
        return answer

    def quiet(self):
        passes, wrong, semaphore = map(int, self.ask("quiet")[1:])
        if wrong:
            die(f"{wrong} of the program's sums and children were wrong after {passes} passes")
        return passes, semaphore


def tracer(program, script, *options):
    command = ["fastsdt-trace", "--engine", "user", *options, "-p", str(program.pid), "-e", script]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(program, process, killed):
    """A tracer's status is 0, or 1 where it has something to say: a library that came late, another tracer that has the sites."""
    try:
        _, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        die("a tracer does not end")
    # An interrupt that comes before it takes signals ends it, and nothing has begun.
    if process.returncode in (0, 1, -signal.SIGKILL if killed else -signal.SIGINT):
        return process.returncode
    # It could not begin: another tracer holds the process, all is busy, an interrupt came first. That it harms nothing is seen in the end.
    if process.returncode == 2 and f"fastsdt-trace: process {program.pid}: " in errors and program.process.poll() is None:
        return 2
    return die(f"a tracer ended with {process.returncode}: {errors}; the program: {program.process.poll()}")


def clean(program):
    """One tracer after another, until what the last ones left is gone."""
    for _ in range(3):
        ended(program, tracer(program, SCRIPTS[0], "--duration", "0.001"), False)


def main():
    wanted, seed = sys.argv[1], int(sys.argv[2])
    r = random.Random(seed)
    program = Program()
    program.ask("go")
    program.quiet()
    clean(program)
    before = program.state()
    if before["files with other text"]:
        die(f"other text from the start: {before}")
    end = time.monotonic() + float(wanted[:-1]) if wanted.endswith("s") else None
    rounds, statuses = 0, {}
    program.ask("go")
    while time.monotonic() < end if end else rounds < int(wanted):
        rounds += 1
        running = [tracer(program, r.choice(SCRIPTS)) for _ in range(r.choice([1, 1, 1, 2]))]
        for process in running:
            time.sleep(r.random() ** 2 * 0.3) # nothing depends on how long: the moment is any
            killed = r.random() < 0.6
            process.send_signal(signal.SIGKILL if killed else signal.SIGINT)
            status = ended(program, process, killed)
            statuses[status] = statuses.get(status, 0) + 1
        if rounds % 200 == 0: # memory does not grow meanwhile
            print(f"{rounds} rounds, {statuses}, {len(list(program.mappings()))} mappings", flush=True)
    program.quiet()
    clean(program)
    passes, semaphore = program.quiet()
    if differs := difference(before, program.state()):
        die(f"{differs}, after {rounds} rounds of seed {seed}")
    if semaphore:
        die("the semaphore is still up")
    program.process.stdin.close()
    if program.process.wait() != 0:
        die(f"the program ended with {program.process.returncode}")
    print(f"{rounds} rounds of seed {seed}, tracers by status {statuses}, {passes} passes: the process is as it was")


main()
