# SPDX-License-Identifier: BSD-2-Clause
"""Attaching and detaching, and what the probed process suffers meanwhile, by tool and number of sites."""
import os

TITLE = "Attaching"
LIVE = True


def measure(bench):
    sites = "1,100" if bench.quick else "1,100,10000"
    bench.say(f"{sites} sites")
    os.environ["FASTSDT_PROBE"] = bench.bin("fastsdt-probe")
    return bench.script("probe.py", "--sites", sites, "--seconds", "1" if bench.quick else "3",
                        header=["tool", "attach_s", "detach_s", "threads_per_s", "threads_ratio", "forks_per_s", "forks_ratio", "stall_ms",
                                "stall_without_ms"])
