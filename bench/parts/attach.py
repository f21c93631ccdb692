# SPDX-License-Identifier: BSD-2-Clause
"""Attaching and detaching by interface of the kernel and number of sites; and by tool, with what the probed process suffers meanwhile."""
import json
import os

TITLE = "Attaching"
LIVE = True


def measure(bench):
    sites = "1,100" if bench.quick else "1,100,10000"
    bench.say(f"{sites} sites, by interface")
    rows = [json.loads(line) for line in bench.run([bench.bin("bench_attach"), "--sites", sites, "--rounds", "3" if bench.quick else "5",
                                                    "--most", "2" if bench.quick else "60"]).splitlines()]
    bench.say(f"{sites} sites, by tool")
    os.environ["FASTSDT_PROBE"] = bench.bin("fastsdt-probe")
    return rows + bench.script("probe.py", "--sites", sites, "--seconds", "1" if bench.quick else "3",
                               header=["tool", "attach_s", "detach_s", "threads_per_s", "threads_ratio", "forks_per_s", "forks_ratio", "stall_ms",
                                       "stall_without_ms"])
