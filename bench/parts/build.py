# SPDX-License-Identifier: BSD-2-Clause
"""What a probe costs to compile, and fastprobe, and `dtrace -h`; and how assembler and linkers grow with the number of sites in one file."""
import glob
import os
import re
import shutil

from run import Unavailable

TITLE = "Building"
LIVE = False


def seconds(bench, command):
    took, status = bench.cost(command)
    if status:
        raise Unavailable(f"{' '.join(command)}: status {status}")
    return took


def growth(bench):
    """Assembler and linkers, with all sites in one file."""
    peers = bench.peers()
    headers = {"systemtap's sys/sdt.h": (f"{peers}/systemtap/sys/sdt.h", "STAP_PROBE1(p, n{}, a);"),
               "fastsdt.h": (f"{bench.top}/include/fastsdt.h", "FASTSDT(p, n{}, a);")}
    folder, rows = bench.folder("growth"), []
    llvm = sorted(glob.glob("/usr/lib/llvm-*/bin/ld.lld"))[-1:]  # Debian has it in the PATH for its default version only
    linkers = {name: [f"-fuse-ld={name}"] for name in ("bfd", "gold", "lld", "mold") if shutil.which("ld." + name)}
    if llvm and "lld" not in linkers:
        linkers["lld"] = ["-fuse-ld=lld", "-B" + os.path.dirname(llvm[0])]
    if "mold" in linkers:
        linkers["mold"].append("-Wl,--no-fork")  # else a child does the work, and nobody waits for it
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
            for linker, options in linkers.items():
                row[f"{linker}_s"] = round(seconds(bench, ["gcc", *options, f"{folder}/many.o", "-o", f"{folder}/many"]), 3)
            rows.append(row)
            bench.say(f"{header}: {count} sites, {row['as_s']} s in as")
    return rows


def fastprobe(bench):
    """What fastprobe does to SQLite, and how much compile time it takes."""
    if bench.quick:
        raise Unavailable("SQLite is compiled many times, which takes longer")
    rows = []
    for name, command, plugin in bench.compilers():
        bench.say(f"fastprobe for {name}, SQLite")
        said = bench.run([f"{bench.top}/bench/fastprobe.sh", "-m", "auto", "-m", "nop10", "-n", "5", name.partition("-")[0], "x86-64", plugin,
                          command, command],
                         env={**os.environ, "FASTSDT_BUILD": bench.build})
        head, *lines = said.splitlines()
        kernels = re.findall(r"cheap on +(\S+)", head)
        for line in lines:
            mode, entries, missed, *shares, optimized, text, growth, run, compiling, _ = line.replace("%", "").split()
            rows.append({"what": "fastprobe", "compiler": name, "mode": mode, "entries": int(entries), "missed": int(missed),
                         "cheap": dict(zip(kernels, map(float, shares), strict=True)), "optimized": float(optimized), "text": int(text),
                         "text_growth": float(growth),
                         **{k: None if v == "-" else float(v) for k, v in (("run_ratio", run), ("compile_ratio", compiling))}})
    return rows


def dtrace(bench):
    """Processor seconds of `dtrace -h` for a thousand probes, systemtap's and ours."""
    theirs, folder, probes = "/usr/bin/dtrace", bench.folder("dtrace"), 1000
    if not os.path.exists(theirs) or b"python" not in open(theirs, "rb").readline():
        raise Unavailable(f"{theirs} is not systemtap's script")
    with open(f"{folder}/many.d", "w") as out:
        out.write("provider bench {\n" + "".join(f"    probe request__number__{i}(int id, const char *item, struct node **list);\n"
                                                 for i in range(probes)) + "};\n")
    tools = {"systemtap's dtrace": theirs, "fastsdt-dtrace": bench.bin("fastsdt-dtrace")}
    took = {tool: [] for tool in tools}
    for _ in range(3 if bench.quick else 9):
        for tool, command in tools.items():
            took[tool].append(round(seconds(bench, [command, "-h", "-s", f"{folder}/many.d", "-o", f"{folder}/many.h"]), 4))
    return [{"what": "dtrace", "tool": tool, "probes": probes, "seconds": values} for tool, values in took.items()]


def measure(bench):
    bench.say("compile time of a probe")
    rows = []
    for row in bench.script("compile.sh", "3" if bench.quick else "9", header=["header", "seconds", "ratio", "object"]):
        words = row["header"].split()
        rows.append({**row, "what": "compile", "compiler": words[0], "header": words[1]})
    return rows + growth(bench) + bench.piece("dtrace -h", dtrace) + bench.piece("fastprobe on SQLite", fastprobe)
