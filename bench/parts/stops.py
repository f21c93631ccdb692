# SPDX-License-Identifier: BSD-2-Clause
"""How long threads stand still while fastsdt-trace attaches to their process and detaches."""
import platform

TITLE = "Standing still"
LIVE = True
COLUMNS = ["least_ms", "median_ms", "p90_ms", "without_ms", "without_p90_ms", "run_ms", "refused"]


def measure(bench):
    rows = []
    for threads, runs in ((1, 10), (100, 3)) if bench.quick else ((1, 50), (100, 20), (1000, 20)):
        bench.say(f"{threads} threads")
        # A thousand that compute on a few processors wait for each other for seconds, with and without a tracer.
        lines = bench.run([bench.bin("bench_stops"), str(threads), "--runs", str(runs), "--asleep"] if threads >= 1000 else
                          [bench.bin("bench_stops"), str(threads), "--runs", str(runs)]).splitlines()[1:]
        if threads >= 1000:
            lines += bench.run([bench.bin("bench_stops"), str(threads), "--runs", "3"]).splitlines()[2:]
        for line in lines:
            number, kind, *values = line.split()
            rows.append({"threads": int(number), "kind": kind, "runs": runs, "kernel": platform.release(),
                         **dict(zip(COLUMNS, map(float, values), strict=True))})
    return rows
