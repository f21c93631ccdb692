# SPDX-License-Identifier: BSD-2-Clause
"""What a site costs while nobody traces it: instructions, time and bytes, by header, layout, bound and number of arguments."""
import os
import re

from run import Unavailable

TITLE = "A site that nobody traces"
LIVE = False
SITES = 10  # in the body of the loop
ARGUMENTS = {0: "", 3: ", i, x, text", 6: ", i, x, text, y, i + x, &x"}

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
{include}
__attribute__((noinline, aligned(64))) static long loop(long n, const char* text, int y)
{{
    long x = n;
    for (long i = 0; i < n; i++) {{
{body}
    }}
    return x + *text + y;
}}
int main(int argc, char** argv) /* PASSES [RUNS]: ns of each run */
{{
    long n = atol(argv[1]), sum = 0;
    for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 1); i++) {{
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        sum += loop(n, argv[0], argc);
        clock_gettime(CLOCK_MONOTONIC, &b);
        printf("%ld\n", (b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec);
    }}
    return sum == 42;
}}
"""


def variants(bench):
    """name -> (include, probe: %c is the count of arguments, %d its number, %s the arguments; flags)"""
    peers = bench.peers()
    ours = f'#include "{bench.top}/include/fastsdt.h"'
    found = {"none": ("", "", []),
             "systemtap's sys/sdt.h": (f'#include "{peers}/systemtap/sys/sdt.h"', "STAP_PROBE%c(p, n%d%s);", []),
             "libbpf's usdt.h": (f'#include "{peers}/libbpf/usdt.h"', "USDT(p, n%d%s);", []),
             "nop1_nop10": (ours, "FASTSDT(p, n%d%s);", []),
             "nop1_nop10, bound 0": (ours, "FASTSDT(p, n%d%s);", ["-DFASTSDT_BOUND=0"])}
    if not bench.quick:
        found["nop1_nop10, bound 4"] = (ours, "FASTSDT(p, n%d%s);", ["-DFASTSDT_BOUND=4"])
        found["nop1_nop10, bound 12"] = (ours, "FASTSDT(p, n%d%s);", ["-DFASTSDT_BOUND=12"])
        for layout in ("nop", "nop1_nop4", "nop1_nop5", "nop5", "nop10"):
            found[layout] = (ours, "FASTSDT(p, n%d%s);", [f"-DFASTSDT_LAYOUT={layout}", "-DFASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1",
                                                         "-DFASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2"])
    return found


def measure(bench):
    if os.uname().machine != "x86_64":
        raise Unavailable("the layouts are x86-64's")
    folder, rows = bench.folder("disabled"), []
    passes, rounds = 2_000_000, 7 if bench.quick else 25
    for compiler in ["gcc"] if bench.quick else [c for _, c, _ in bench.compilers()]:
        programs = {}
        for name, (include, probe, flags) in variants(bench).items():
            for count, arguments in ARGUMENTS.items():
                # The work between two sites, so that they are not one run of nops.
                work = ' x += (x >> 3) ^ i; __asm__ volatile("" : "+r"(x));'
                body = "\n".join(probe.replace("%c", str(count or "")).replace("%d", str(i)).replace("%s", arguments) + work for i in range(SITES))
                file = re.sub(r"\W+", "-", f"{compiler}-{name}-{count}")
                with open(f"{folder}/{file}.c", "w") as out:
                    out.write(PROGRAM.format(include=include, body=body))
                bench.run([compiler, "-O2", "-w", *flags, f"{folder}/{file}.c", "-o", f"{folder}/{file}"])
                programs[name, count] = f"{folder}/{file}"
        bench.say(f"{compiler}: {len(programs)} programs, {rounds} rounds")
        ns = {key: [] for key in programs}
        for _ in range(rounds):
            for key, program in programs.items():
                ns[key].append(min(map(int, bench.run([program, str(passes), "1"]).split())) / passes / SITES)
        for key, program in programs.items():
            symbols = bench.run(["nm", "-S", program])
            size = int(re.search(r"^\w+ (\w+) t loop", symbols, re.M)[1], 16)
            rows.append({"compiler": compiler, "header": key[0], "arguments": key[1], "ns": [round(n, 4) for n in ns[key]],
                         "instructions": round((bench.instructions([program, "20000"]) - bench.instructions([program, "10000"])) / 10000 / SITES, 2),
                         "bytes": round(size / SITES, 1), "file": os.path.getsize(program)})
    return rows
