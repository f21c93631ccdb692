# SPDX-License-Identifier: BSD-2-Clause
"""What a hit costs, by the instruction under the probe: on the running kernel, and in guests of Debian's kernels."""
import json
import os
import subprocess

from run import Unavailable

TITLE = "A hit in the kernel"
LIVE = True
GUESTS = ["6.1", "6.12", "6.18", "7.2"]


def rows_of(text, **more):
    rows = []
    for line in text.splitlines():
        row = json.loads(line)
        if "ns" in row:
            row["ns"] = [round(n, 1) for n in row["ns"]]
        rows.append({**more, **row})
    return rows


def measure(bench):
    program = bench.bin("bench_hits")
    threads = [1]
    while not bench.quick and threads[-1] * 2 <= os.cpu_count():
        threads.append(threads[-1] * 2)
    command = [program, "--rounds", "5" if bench.quick else "15", "--threads", ",".join(map(str, threads))]
    bench.say(" ".join(command[1:]))
    rows = rows_of(bench.run(command), kernel=os.uname().release, hardware="native")
    for series in ["7.2"] if bench.quick else GUESTS:
        bench.say(f"in a guest of {series}")
        guest = subprocess.run([f"{bench.top}/bench/in-guest.sh", series, program], capture_output=True, text=True,
                               input="/bin/bench_hits --bpf --rounds 5 --milliseconds 40\n")
        if guest.returncode:
            bench.skip(f"a hit on {series}", (guest.stderr.strip().splitlines() or ["no word"])[-1])
            continue
        rows += rows_of(guest.stdout, kernel=series, hardware="emulated")
    if not rows:
        raise Unavailable("nothing was measured")
    return rows
