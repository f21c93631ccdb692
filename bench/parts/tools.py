# SPDX-License-Identifier: BSD-2-Clause
"""The tools: time, peak memory, and how both grow with the number of probes."""
import concurrent.futures
import json
import os
import re
import shutil

TITLE = "The tools"
LIVE = False
MANY = 1000000  # here each tool takes seconds: fewer rounds


def program(bench, count):
    """A program with that many probes of three arguments."""
    folder = bench.folder("tools")
    file = f"{folder}/probes{count}"
    if not os.path.exists(file):
        def compiled(first):
            source, target = f"{folder}/{first}.c", f"{folder}/{first}.o"
            with open(source, "w") as out:
                out.write(f'#include "{bench.top}/include/fastsdt.h"\n')
                for f in range(first, min(first + 2000, count), 20):
                    out.write(f"int f{f}(int a, char* b, long c) {{\n" + "\n".join(
                        f"FASTSDT(provider{i}, probe{f + i}, a, b, c);" for i in range(min(20, count - f))) + "\nreturn a; }\n")
                if not first:
                    out.write("int main(void) { return f0(0, 0, 0); }\n")
            bench.run(["gcc", "-O1", "-c", source, "-o", target])
            os.unlink(source)
            return target

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            objects = list(threads.map(compiled, range(0, count, 2000)))
        bench.run(["gcc", *objects, "-o", file])
        for name in objects:
            os.unlink(name)
    return file


def largest_library():
    files = [os.path.join(d, f) for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/llvm-19/lib") if os.path.isdir(d) for f in os.listdir(d)
             if ".so" in f]
    return max((f for f in files if os.path.isfile(f)), key=os.path.getsize)


def index(bench):
    """What fastsdt-index makes of a file with many function entries, and how long finding one of them takes."""
    entries = 100000
    said, found = bench.run([f"{bench.top}/bench/index.sh", str(entries), "--benchmark_format=json"],
                            env={**os.environ, "FASTSDT_BUILD": bench.build}).split("{", 1)
    before, after = (int(re.search(rf"^file {when}: +(\d+)", said, re.M)[1]) for when in ("before", "after"))
    return {"what": "index", "entries": entries, "before": before, "after": after,
            "lookup_ns": {row["name"]: round(row["cpu_time"], 1) for row in json.loads("{" + found)["benchmarks"]}}


def measure(bench):
    check, indexer = bench.bin("fastsdt-check"), bench.bin("fastsdt-index")
    files = [(f"{n:,} probes", program(bench, n), n) for n in ((1000, 20000) if bench.quick else (1000, 10000, 20000, 100000, MANY))]
    library = largest_library()
    files.append((f"{re.sub('[.]so.*', '', os.path.basename(library))}, {os.path.getsize(library) >> 20} MB", library, 0))
    rows = []
    for name, file, probes in files:
        out = os.path.join(bench.folder("tools"), "indexed")
        commands = {"readelf -n": ["readelf", "-n", file], "fastsdt-check": [check, file], "fastsdt-check --plan": [check, "--plan", file],
                    "gdb info probes": ["gdb", "-nx", "-batch", "-ex", "info probes stap", file], "fastsdt-index": [indexer, file, "-o", out]}
        if shutil.which("bpftrace") and os.geteuid() == 0 and probes < 100000:  # with 100,000 a run takes more than two minutes
            commands["bpftrace -l"] = ["bpftrace", "-l", f"usdt:{file}:*"]
        values = {tool: [] for tool in commands}
        for _ in range(3 if bench.quick or probes == MANY else 7):
            for tool, command in commands.items():
                if os.path.exists(out):
                    os.unlink(out)
                values[tool].append(round(bench.cost(command)[0], 4))
        for tool, command in commands.items():
            rows.append({"file": name, "tool": tool, "seconds": values[tool], "megabytes": round(bench.peak(command), 1)})
        bench.say(name)
    bench.say("an index")
    return [*rows, index(bench)]
