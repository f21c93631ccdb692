#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compile-time overhead of a fastprobe plugin. Usage: fastprobe-compile.py ROUNDS|instructions PLUGIN DIR CC [FLAG...]

Compiles each .c file of DIR without the plugin, with it, with report= as well, and with exits of both kinds, in turn, ROUNDS times; takes the smallest
CPU time (user and system) of each file and prints the sums and their ratios. The smallest of many is what the least disturbed run needed, so it
stands a busy machine. `instructions` counts those of the compiler and the assembler instead, once, with valgrind: they are the same on any machine,
however busy."""
import os
import pathlib
import re
import sys
import tempfile

rounds, plugin, folder, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
files = sorted(pathlib.Path(folder).glob("*.c"))
argument = "-fplugin-arg-fastprobe-"


def run(words, path):
    pid = os.spawnvp(os.P_NOWAIT, words[0], words)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{path}: does not compile: {' '.join(words)}")
    # the driver's wait4() counts the compiler and the assembler
    return usage.ru_utime + usage.ru_stime


def instructions(words, path, out):
    """What valgrind counts in the driver and everything that it starts."""
    run(["valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--trace-children=yes", "--verbose",
         f"--log-file={out}/log.%p"] + words, path)
    total = 0
    for log in pathlib.Path(out).glob("log.*"):
        total += sum(int(n.replace(",", "")) for n in re.findall(r"I\s+refs:\s+([0-9,]+)", log.read_text(errors="replace")))
        log.unlink()
    assert total > 0, "valgrind counted nothing"
    return total / 1e6


best = {}
with tempfile.TemporaryDirectory() as out:
    load = f"-fplugin={plugin}"
    modes = {"without": [], "auto": [load], "auto, report=": [load, f"{argument}report={out}/report"],
             "exit=nop": [load, f"{argument}exit=nop"], "exit=nop10": [load, f"{argument}exit=nop10"]}
    for _ in range(1 if rounds == "instructions" else int(rounds)):
        for path in files:
            for mode, flags in modes.items():
                words = command + flags + ["-w", "-c", str(path), "-o", f"{out}/o"]
                taken = instructions(words, path, out) if rounds == "instructions" else run(words, path)
                best[path, mode] = min(best.get((path, mode), 1e12), taken)
sums = {mode: sum(best[path, mode] for path in files) for mode in modes}
unit = "M instructions" if rounds == "instructions" else "s"
print(f"{len(files)} files, {rounds}{'' if unit[0] == 'M' else ' rounds'}: " + "; ".join(
    f"{mode} {sums[mode]:.3f} {unit}" + ("" if mode == "without" else f", ratio {sums[mode] / sums['without']:.4f}") for mode in modes))
