# SPDX-License-Identifier: BSD-2-Clause
"""The tools: time, peak memory, and how both grow with the number of probes."""
import os
import re
import shutil

TITLE = "The tools"
LIVE = False


def program(bench, count):
    """A program with that many probes of three arguments."""
    folder = bench.folder("tools")
    file = f"{folder}/probes{count}"
    if not os.path.exists(file):
        objects = []
        for first in range(0, count, 2000):  # one file each: gas is quadratic in the sites of one file
            with open(f"{folder}/part.c", "w") as out:
                out.write(f'#include "{bench.top}/include/fastsdt.h"\n')
                for f in range(first, min(first + 2000, count), 20):
                    out.write(f"int f{f}(int a, char* b, long c) {{\n" + "\n".join(
                        f"FASTSDT(provider{i}, probe{f + i}, a, b, c);" for i in range(min(20, count - f))) + "\nreturn a; }\n")
                if not first:
                    out.write("int main(void) { return f0(0, 0, 0); }\n")
            objects.append(f"{folder}/{first}.o")
            bench.run(["gcc", "-O1", "-c", f"{folder}/part.c", "-o", objects[-1]])
        bench.run(["gcc", *objects, "-o", file])
        for name in objects:
            os.unlink(name)
    return file


def largest_library():
    files = [os.path.join(d, f) for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/llvm-19/lib") if os.path.isdir(d) for f in os.listdir(d) if ".so" in f]
    return max((f for f in files if os.path.isfile(f)), key=os.path.getsize)


def measure(bench):
    check, index = bench.bin("fastsdt-check"), bench.bin("fastsdt-index")
    files = {f"{n} probes": program(bench, n) for n in ((1000, 20000) if bench.quick else (1000, 10000, 20000, 100000))}
    library = largest_library()
    files[f"{re.sub('[.]so.*', '', os.path.basename(library))}, {os.path.getsize(library) >> 20} MB"] = library
    rows = []
    for name, file in files.items():
        out = os.path.join(bench.folder("tools"), "indexed")
        commands = {"readelf -n": ["readelf", "-n", file], "fastsdt-check": [check, file], "fastsdt-check --plan": [check, "--plan", file],
                    "gdb info probes": ["gdb", "-nx", "-batch", "-ex", "info probes stap", file], "fastsdt-index": [index, file, "-o", out]}
        if shutil.which("bpftrace") and os.geteuid() == 0 and name != "100000 probes":  # a run takes more than two minutes
            commands["bpftrace -l"] = ["bpftrace", "-l", f"usdt:{file}:*"]
        values = {tool: [] for tool in commands}
        for _ in range(3 if bench.quick else 7):
            for tool, command in commands.items():
                if os.path.exists(out):
                    os.unlink(out)
                values[tool].append(bench.cost(command))
        for tool, found in values.items():
            rows.append({"file": name, "tool": tool, "seconds": [round(s, 4) for s, _, _ in found], "megabytes": round(min(m for _, m, _ in found), 1)})
        bench.say(name)
    return rows
