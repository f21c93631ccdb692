#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traces programs in which everything comes and goes (churn.c, churn_throws.cpp, churn.go), again and again, each time one of them by one or two
tracers, many of which are killed at a moment of their own, or nobody reads their output any more: `churn.py ROUNDS SEED [PROGRAM...]`, or
`churn.py SECONDSs SEED [PROGRAM...]`.
Afterwards each process has to be as it was: the text of each file that it has mapped, the vdso, semaphores, mappings, memory; and the program says
whether all of its sums were right."""
import os
import random
import shutil
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
    "usdt:*:churn:pass { printf(\"%d %s\\n\", arg0, str(arg1)); }",
]
OF_THROWS = [
    "uprobe:./throws:*catch_one*, uprobe:./throws:*throw_at* { @[func] = count(); }",
    "uprobe:./throws:* { @[func] = count(); }",
    "uprobe:./throws:*, uretprobe:./throws:* { @[probe] = count(); }",
    "uprobe:./throws:*catch_one* { @s[tid] = nsecs; } uretprobe:./throws:*catch_one* /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s[tid]); }",
    "uprobe:*/libstdc++.so.6:__cxa_throw { @[ustack(4)] = count(); } uprobe:./throws:*throw_at* { printf(\"%d\\n\", arg0); }",
]
# Not its C functions: frames of former signals in their stubs lie on stacks of handlers, and the memory stays as long as they do.
OF_GO = [
    "uprobe:./goes:main.* { @[func] = count(); }",
    "uprobe:./goes:*.*, uretprobe:./goes:main.deep { @ = count(); }",
    "uprobe:./goes:*.*, uretprobe:./goes:*.* { @[probe] = count(); }",
    "uprobe:./goes:main.recovered { @s[goid] = nsecs; } uretprobe:./goes:main.recovered /@s[goid]/ { @h = hist(nsecs - @s[goid]); delete(@s[goid]); }",
    "uprobe:./goes:main.deep { @[arg0, ustack(3)] = count(); } uretprobe:./goes:main.turn { @t[goid, tid] = count(); }",
]
PROGRAMS = {"./churn": SCRIPTS, "./throws": OF_THROWS, "./goes": OF_GO}


def die(text):
    sys.exit(f"churn.py: {text}")


class Program(Traced):
    def __init__(self, *command):
        self.scripts = PROGRAMS[command[0]]
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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

    def state(self):
        """Where instructions were moved a mapping may be in several parts. Go and the C++ library map memory as they go."""
        state = super().state()
        if self.scripts is SCRIPTS:
            return state
        del state["descriptors"]
        parts = []
        for start, end, protection, offset, inode, name in state["mappings"]:
            if not inode and "x" not in protection and "fastsdt" not in name:
                continue
            if parts and parts[-1][1] == start and parts[-1][2] == protection and parts[-1][5] == name:
                parts[-1] = (parts[-1][0], end, *parts[-1][2:])
            else:
                parts.append((start, end, protection, offset, inode, name))
        state["mappings"] = parts
        return state


def tracer(program, script, *options, output=subprocess.DEVNULL):
    command = ["fastsdt-trace", "--engine", "user", *options, "-p", str(program.pid), "-e", script]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True)


def waiting(pid):
    """Where each thread of a process is, in the kernel and in its own code."""
    text = f"process {pid}:\n"
    with open(f"/proc/{pid}/status") as file:
        text += file.read()
    for thread in sorted(os.listdir(f"/proc/{pid}/task")):
        text += f"thread {thread}:"
        for name in ("comm", "stat", "wchan", "syscall", "stack"):
            try:
                with open(f"/proc/{pid}/task/{thread}/{name}") as file:
                    text += f" {name} {file.read().strip()}"
            except OSError as error:
                text += f" {name}: {error.strerror}"
        text += "\n"
    if shutil.which("gdb"):
        gdb = ["gdb", "-batch", "-p", str(pid), "-ex", "thread apply all backtrace"]
        try:
            text += subprocess.run(gdb, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False).stdout
        except subprocess.TimeoutExpired:
            text += "gdb does not end either\n"
    return text


def ended(program, process, killed):
    """A tracer's status is 0, or 1 where it has something to say: a library that came late, another tracer that has the sites."""
    try:
        _, errors = process.communicate(timeout=600) # a GiB is searched at each arming, and others may want the processor
    except subprocess.TimeoutExpired:
        command = " ".join(process.args)
        waits = "".join(waiting(pid) for pid in (process.pid, program.pid))
        print(f"a tracer does not end: {command}\n{waits}", flush=True)
        process.kill()
        die("a tracer does not end")
    # An interrupt that comes before it takes signals ends it, and nothing has begun.
    if process.returncode in (0, 1, -signal.SIGKILL if killed else -signal.SIGINT):
        return process.returncode
    # It could not begin: another tracer holds the process, all is busy, an interrupt came first. That it harms nothing is seen in the end.
    if process.returncode == 2 and f"fastsdt-trace: process {program.pid}: " in errors and program.process.poll() is None:
        return 2
    if process.returncode == 2 and "cannot be written" in errors:
        return "closed"
    return die(f"a tracer ended with {process.returncode}: {errors}; the program: {program.process.poll()}")


def clean(program):
    """One tracer after another, until what the last ones left is gone."""
    for _ in range(3):
        ended(program, tracer(program, program.scripts[0], "--duration", "0.001"), False)


def look_for_hits(program):
    """Each script finds something while the program runs: otherwise nothing is tried."""
    for script in program.scripts:
        process = tracer(program, script, "--duration", "0.5", output=subprocess.PIPE)
        out, errors = process.communicate(timeout=600)
        if not any(line.startswith("@") or line[:1].isdigit() for line in out.splitlines()):
            die(f"{program.process.args[0]}: no hit of {script}: {out} {errors}")


def main():
    wanted, seed = sys.argv[1], int(sys.argv[2])
    # A shell that starts us in the background has us ignore it, and so would a tracer that is interrupted before it takes signals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    r = random.Random(seed)
    is_long = wanted.endswith("s")
    commands = [["./churn", "./churnlib.so", *(["1200"] if is_long else [])], ["./throws"], ["./goes"]]
    wanted_programs = sys.argv[3:] or [command[0] for command in commands if os.path.exists(command[0])]
    programs = [Program(*command) for command in commands if command[0] in wanted_programs]
    before = []
    for program in programs:
        program.ask("go")
        look_for_hits(program)
        program.quiet()
        clean(program)
        before.append(program.state())
        if before[-1]["files with other text"]:
            die(f"other text from the start: {before[-1]}")
        program.ask("go")
    end = time.monotonic() + float(wanted[:-1]) if is_long else None
    rounds, statuses = 0, {}
    while time.monotonic() < end if end else rounds < int(wanted):
        rounds += 1
        program = r.choice(programs)
        running = []
        for _ in range(r.choice([1, 1, 1, 2])):
            closes = r.random() < 0.2
            process = tracer(program, r.choice(program.scripts), output=subprocess.PIPE if closes else subprocess.DEVNULL)
            running.append((process, closes))
        for process, closes in running:
            time.sleep(r.random() ** 2 * 0.3) # nothing depends on how long: the moment is any
            if closes: # nobody reads what comes from now on
                process.stdout.close()
                process.stdout = None
            killed = not closes and r.random() < 0.6
            process.send_signal(signal.SIGKILL if killed else signal.SIGINT)
            status = ended(program, process, killed)
            statuses[status] = statuses.get(status, 0) + 1
        if rounds % 200 == 0: # memory does not grow meanwhile
            print(f"{rounds} rounds, {statuses}, {[len(list(p.mappings())) for p in programs]} mappings", flush=True)
    passes = []
    for program, was in zip(programs, before):
        program.quiet()
        clean(program)
        count, semaphore = program.quiet()
        passes.append(count)
        differs = difference(was, program.state())
        # A word on a stack of an ended thread may look like the pointer of somebody who goes back into a stub, which stays then. It has to go when
        # other threads have had that stack.
        for again in range(3):
            if differs:
                print(f"{program.process.args[0]}: after {3 * again + 3} tracers there is {differs}", flush=True)
                program.ask("go")
                program.quiet()
                clean(program)
                differs = difference(was, program.state())
        if differs:
            die(f"{program.process.args[0]}: {differs}, after {rounds} rounds of seed {seed}")
        if semaphore:
            die("the semaphore is still up")
        program.process.stdin.close()
        if program.process.wait() != 0:
            die(f"{program.process.args[0]} ended with {program.process.returncode}")
    print(f"{rounds} rounds of seed {seed}, tracers by status {statuses}, {passes} passes: each process is as it was")


main()
