# SPDX-License-Identifier: BSD-2-Clause
"""Attaching and detaching by interface of the kernel and number of sites; and by tool, with what the probed process suffers meanwhile."""
import json

TITLE = "Attaching"
LIVE = True


def by_interface(bench, sites):
    bench.say(f"{sites} sites, by interface")
    return [json.loads(line) for line in bench.run([bench.bin("bench_attach"), "--sites", sites, "--rounds",
                                                    "3" if bench.quick else "5"]).splitlines()]


def by_tool(bench, sites):
    bench.say(f"{sites} sites, by tool")
    return bench.script("probe.py", "--sites", sites, "--seconds", "1" if bench.quick else "3", env={"FASTSDT_PROBE": bench.bin("fastsdt-probe")},
                        header=["tool", "attach_s", "detach_s", "threads_per_s", "threads_ratio", "forks_per_s", "forks_ratio", "stall_ms",
                                "stall_without_ms"])


def measure(bench):
    all_sites = "1,100,10000"
    return (bench.piece("attaching by interface", by_interface, "1,20" if bench.quick else all_sites)
            + bench.piece("attaching by tool", by_tool, "1,100" if bench.quick else all_sites))
