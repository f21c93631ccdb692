#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compile-time overhead of a fastprobe plugin. Usage: fastprobe-compile.py ROUNDS PLUGIN DIR CC [FLAG...]

Compiles each .c file of DIR without the plugin, with it, and with report= as well, in turn, ROUNDS times; takes the smallest CPU
time (user and system) of each file and prints the sums and their ratios. The smallest of many is what the least disturbed run needed, so it
stands a busy machine."""
import os
import pathlib
import sys
import tempfile

rounds, plugin, folder, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
files = sorted(pathlib.Path(folder).glob("*.c"))
best = {}
with tempfile.TemporaryDirectory() as out:
    modes = {"without": [], "auto": [f"-fplugin={plugin}"],
             "auto, report=": [f"-fplugin={plugin}", f"-fplugin-arg-fastprobe-report={out}/report"]}
    for _ in range(rounds):
        for path in files:
            for mode, flags in modes.items():
                pid = os.spawnvp(os.P_NOWAIT, command[0], command + flags + ["-w", "-c", str(path), "-o", f"{out}/o"])
                _, status, usage = os.wait4(pid, 0)
                if status:
                    sys.exit(f"{path}: does not compile")
                # the driver's wait4() counts the compiler and the assembler
                best[path, mode] = min(best.get((path, mode), 1e9), usage.ru_utime + usage.ru_stime)
sums = {mode: sum(best[path, mode] for path in files) for mode in modes}
print(f"{len(files)} files, {rounds} rounds: " + "; ".join(
    f"{mode} {sums[mode]:.3f} s" + ("" if mode == "without" else f", ratio {sums[mode] / sums['without']:.4f}") for mode in modes))
