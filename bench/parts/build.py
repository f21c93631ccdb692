# SPDX-License-Identifier: BSD-2-Clause
"""What a probe costs to compile, and how assembler and linkers grow with the number of sites in one file."""
import os
import shutil

from run import Unavailable

TITLE = "Building"
LIVE = False


def seconds(bench, command):
    took, _, status = bench.cost(command)
    if status:
        raise Unavailable(f"{' '.join(command)}: status {status}")
    return took


def growth(bench):
    """Assembler and linkers, with all sites in one file."""
    peers = bench.peers()
    headers = {"systemtap's sys/sdt.h": (f"{peers}/systemtap/sys/sdt.h", "STAP_PROBE1(p, n{}, a);"),
               "fastsdt.h": (f"{bench.top}/include/fastsdt.h", "FASTSDT(p, n{}, a);")}
    folder, rows = bench.folder("growth"), []
    linkers = [linker for linker in ("bfd", "gold", "lld", "mold") if shutil.which("ld." + linker)]
    for count in (1000, 5000) if bench.quick else (1000, 5000, 10000, 20000, 50000):
        for header, (file, probe) in headers.items():
            with open(f"{folder}/many.c", "w") as out:
                out.write(f'#include "{file}"\n')
                for f in range(count // 20):
                    out.write(f"int f{f}(int a) {{\n" + "\n".join(probe.format(f * 20 + i) for i in range(20)) + "\nreturn a; }\n")
                out.write("int main(void) { return f0(0); }\n")
            bench.run(["gcc", "-O1", "-S", f"{folder}/many.c", "-o", f"{folder}/many.s"])
            took = seconds(bench, ["as", f"{folder}/many.s", "-o", f"{folder}/many.o"])
            row = {"what": "growth", "header": header, "sites": count, "as_s": round(took, 3), "object": os.path.getsize(f"{folder}/many.o")}
            for linker in linkers:
                row[f"{linker}_s"] = round(seconds(bench, ["gcc", f"-fuse-ld={linker}", f"{folder}/many.o", "-o", f"{folder}/many"]), 3)
            rows.append(row)
            bench.say(f"{header}: {count} sites, {row['as_s']} s in as")
    return rows


def measure(bench):
    bench.say("compile time of a probe")
    rows = []
    for row in bench.script("compile.sh", "3" if bench.quick else "9", header=["header", "seconds", "ratio", "object"]):
        words = row["header"].split()
        rows.append({**row, "what": "compile", "compiler": words[0], "header": words[1]})
    return rows + growth(bench)
