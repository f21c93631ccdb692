#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tests/long/move-go-programs.sh says, with the packages that it has unpacked in the current folder."""
import argparse
import os
import random
import re
import selectors
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../engine"))
from go_programs import CLIENTS, KINDS, LONG_ENOUGH, WORK, Broken, Load, Running, until  # noqa: E402
from traced import Traced  # noqa: E402


class Traces(Running):
    """One program, its load, and the tracers that come and go."""

    def __init__(self, kind, arguments):
        super().__init__(kind)
        self.arguments = arguments
        self.random = random.Random(f"{arguments.s} {kind.name}")
        self.rounds = self.killed = self.killed_armed = self.armed = 0
        self.sites, self.broken, self.arming = set(), None, 0.0
        self.load = None

    def untraced(self):
        """A first look at the load, when all run."""
        for number in range(CLIENTS):
            self.load.longest[number] = 0
        time.sleep(10)
        self.slowest = max(self.load.longest)
        self.answers() # what is wrong now no tracer has done
        for number in range(CLIENTS):
            self.load.longest[number] = 0

    def script(self):
        return f'interval:ms:10 {{ printf("armed\\n"); }} uprobe:{self.file}:* {{ @in = count(); }} uretprobe:{self.file}:* {{ @out = count(); }}'

    def answers(self):
        """Each client has had two answers from now on, and all have been right."""
        before = list(self.load.done)
        until(f"{self.name} answers all clients", lambda: self.check_alive() or all(now >= then + 3 for now, then in zip(self.load.done, before)))
        if self.load.wrong.value:
            with open(self.load.log, encoding="utf-8") as log:
                raise Broken(f"{self.load.wrong.value} wrong answers: {log.read()[:2000]}")

    def round(self, kills=None):
        """A tracer. @param kills  whether it is killed; None: every third is"""
        kills = self.rounds % 3 == 2 if kills is None else kills
        whole = self.random.random() < 0.7 # ends after all is armed; else at any moment
        wait = self.random.random() * (2 if whole else 1.2 * self.arming)
        begin = time.monotonic()
        with open(f"{self.name}.errors", "w+", encoding="utf-8") as errors:
            command = ["fastsdt-trace", "--engine", "user", "-p", str(self.process.pid), "-e", self.script()]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as tracer:
                text = self.read(tracer, begin + LONG_ENOUGH if whole or not self.arming else begin + wait)
                is_armed = b"armed\n" in text
                if is_armed and (whole or not self.arming):
                    self.arming = time.monotonic() - begin
                    time.sleep(wait)
                tracer.send_signal(signal.SIGKILL if kills else signal.SIGINT)
                rest, _ = tracer.communicate(timeout=LONG_ENOUGH)
            errors.seek(0)
            self.ended(tracer.returncode, kills, errors.read(), text + rest)
        self.rounds += 1
        self.killed += kills
        self.killed_armed += kills and is_armed
        self.armed += is_armed
        self.check_alive()
        self.answers()
        if is_armed and not kills:
            self.own_code()
        if self.rounds % 10 == 0:
            print(f"{self.name}: {self.rounds} tracers, {self.armed} of them armed all, {self.killed} killed", flush=True)

    @staticmethod
    def read(tracer, end):
        """What a tracer prints until it is armed, or until then."""
        text = b""
        with selectors.DefaultSelector() as selector:
            selector.register(tracer.stdout, selectors.EVENT_READ)
            while b"armed\n" not in text and (left := end - time.monotonic()) > 0:
                if selector.select(left):
                    some = os.read(tracer.stdout.fileno(), 4096)
                    if not some:
                        break
                    text += some
        return text

    def ended(self, status, kills, errors, text):
        if status not in ((-signal.SIGKILL,) if kills else (0, 1, 2, -signal.SIGINT)) or (status == 2 and "interrupted" not in errors):
            raise Broken(f"a tracer ended with {status}: {errors[-2000:]}")
        sites = re.search(rb"^sites (\d+) of (\d+) armed", text, re.M)
        if sites and b"armed\n" in text.splitlines(keepends=True):
            self.sites.add((int(sites[1]), int(sites[2])))

    def own_code(self):
        different = list(Traced(self.process.pid).text_differs())
        if different:
            raise Broken(f"code in memory is not the file's: {different}")

    def left_over(self):
        return [m for m in Traced(self.process.pid).mappings() if "fastsdt" in m[5].replace(WORK, "") or m[2].startswith("rwx")]

    def run(self, end):
        try:
            while time.monotonic() < end if end else self.rounds < self.arguments.n:
                self.round()
            for _ in range(4): # a stub may stay while somebody stands in it
                self.round(False)
                if self.armed and not self.left_over():
                    break
            self.own_code()
            if self.left_over():
                raise Broken(f"still mapped: {self.left_over()}")
        except (Broken, OSError, subprocess.SubprocessError) as error:
            self.broken = f"{self.name}, round {self.rounds} of seed {self.arguments.s}: {error}"
            print(self.broken, flush=True)

    def share(self):
        """What of functions that check their stack, and of their returns, can be armed."""
        checked = armed = returns = returns_armed = 0
        for line in subprocess.run(["fastsdt-check", "--armable", self.file], capture_output=True, text=True, check=True).stdout.splitlines():
            function = re.match(r"  0x[0-9a-f]+  .*; exits (\d+) of (\d+)$", line)
            if not function or re.search("without a check of its stack|must stay as they are|is in a Go program|has no caller", line):
                continue
            checked += 1
            armed += bool(re.search(r"  \d+ bytes; exits", line))
            returns_armed += int(function[1])
            returns += int(function[2])
        return f"{armed} of {checked} functions with a check ({100 * armed / checked:.2f} %), " \
               f"{returns_armed} of {returns} of their returns ({100 * returns_armed / returns:.2f} %)"

    def says(self):
        sites = max(self.sites, default=(0, 0))
        all_armed = all(a == b for a, b in self.sites)
        return (f"{self.name}: {self.rounds} tracers, {self.armed} of them armed all, {self.killed} killed ({self.killed_armed} while all was armed); "
                f"{sites[0]} of {sites[1]} sites"
                f"{'' if all_armed else ' (not always all: ' + str(sorted(self.sites)[0]) + ')'}; "
                f"{sum(self.load.done)} {self.program.unit}, {self.load.wrong.value} wrong; the slowest "
                f"took {1000 * max(self.load.longest):.0f} ms ({1000 * self.slowest:.0f} ms in 10 s before); {self.share()}")

    def end(self):
        if self.load:
            self.load.end()
        super().end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=20)
    parser.add_argument("-t", type=int)
    parser.add_argument("-s", type=int, default=1)
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    # A shell that starts us in the background has us ignore it, and so would a tracer.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    all_traces = []
    try:
        for name in arguments.programs or KINDS:
            all_traces.append(Traces(KINDS[name], arguments))
            all_traces[-1].ready()
            all_traces[-1].load = Load(all_traces[-1].program)
        for traces in all_traces:
            traces.untraced()
        begin = time.monotonic()
        threads = [threading.Thread(target=traces.run, args=(begin + arguments.t if arguments.t else None,), daemon=True) for traces in all_traces]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for traces in all_traces:
            print(traces.says())
        print(f"{sum(t.rounds for t in all_traces)} tracers in {time.monotonic() - begin:.0f} s, seed {arguments.s}: "
              f"{'each program is as it was' if not any(t.broken for t in all_traces) else 'something differs'}")
    finally:
        for traces in all_traces:
            traces.end()
    return 1 if any(t.broken for t in all_traces) else 0


sys.exit(main())
