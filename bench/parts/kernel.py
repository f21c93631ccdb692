# SPDX-License-Identifier: BSD-2-Clause
"""Scripts in the kernel: what a hit costs by fastsdt-trace's kernel engine, by its user engine and by bpftrace, on the same program; and how long
attaching takes."""
import os
import shutil
import time

from parts import trace
from run import Unavailable
from tracers import KERNEL, SITE, Idle, Script, Target, started, stopped

TITLE = "Scripts in the kernel"
LIVE = True
SCRIPTS = [("count", "site", SITE % "@ = count();", True), ("count by integer key", "site", SITE % "@[arg0 % 64] = count();", True),
           ("hist", "site", SITE % "@ = hist(arg0);", True), ("stack of calls", "call", "uprobe:FILE:work { @[ustack(3)] = count(); }", False),
           ("latency between two probes", "pair", trace.LATENCY, True), ("count of entries", "call", "uprobe:FILE:work { @ = count(); }", True)]


def attached(bench, tool, sites):
    """Seconds from the tool's start until its sites count, and from an interrupt to its end."""
    gcc = next(bench.compilers(("gcc",)))[0]
    file = f"{bench.folder('trace')}/named-{sites}"
    if not os.path.exists(file):
        source = f"{file}.c"
        with open(source, "w") as out:
            out.write('#include <stdio.h>\n#include "%s/include/fastsdt.h"\n' % bench.top)
            out.writelines(f"__attribute__((noinline)) void f{i}(int n) {{ FASTSDT(bench, p{i}, n); }}\n" for i in range(sites))
            out.write('int main(void) { puts("ready"); fflush(stdout); for (int c; (c = getchar()) != EOF;) {\n')
            out.writelines(f"f{i}(c);\n" for i in range(sites))
            out.write("} return 0; }\n")
        bench.run([gcc, "-O1", source, "-o", file])
    took, ended = [], []
    for _ in range(3 if bench.quick else 7):
        target = Target(file, 1, "site")
        begin = time.monotonic()
        words = {KERNEL: [bench.bin("fastsdt-trace"), "--engine", "kernel"], "fastsdt-trace": [bench.bin("fastsdt-trace"), "--engine", "user"],
                 "bpftrace": ["bpftrace"]}[tool]
        # bpftrace arms before the first interval.
        tracer = started([*words, "-p", str(target.process.pid), "-e",
                          f'interval:ms:10 {{ printf("armed\\n"); }} usdt:{file}:bench:* {{ @ = count(); }}'], "armed")
        took.append(round(time.monotonic() - begin, 3))
        begin = time.monotonic()
        stopped(tracer)
        ended.append(round(time.monotonic() - begin, 3))
        target.end()
    return {"what": "attach", "tool": tool, "sites": sites, "armed_s": took, "ended_s": ended}


def measure(bench):
    if os.uname().machine != "x86_64":
        raise Unavailable("the scripts are compared on x86-64 so far")
    built = trace.build(bench)
    tools = ["fastsdt-trace", KERNEL] + (["bpftrace"] if shutil.which("bpftrace") else [])
    if len(tools) == 2:
        bench.skip("bpftrace", "it is not installed")
    rows = []
    for threads in (1, 2):
        bench.say(f"hits, {threads} threads")
        ways = [Idle("fastsdt", loop) for loop in ("site", "pair", "call")] + [Script(tool, *script) for tool in tools for script in SCRIPTS]
        rows += trace.hits(bench, built, threads, ways)
    for sites in (1, 100, 1000):
        for tool in tools:
            if tool == "bpftrace" and sites > 500:
                continue  # BPFTRACE_MAX_PROBES is 512
            bench.say(f"attaching to {sites} sites")
            try:
                rows.append(attached(bench, tool, sites))
            except Unavailable as why:
                bench.skip(f"{tool}, {sites} sites", str(why))
    return rows
