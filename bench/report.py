#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the documents and the pictures of one recorded run: report.py [--no-pictures] RESULTS.json DOCUMENT.md RECORDED [OVERVIEW.md]
DOCUMENT.md gets the answers, the folder RECORDED the pictures and performance.md: all tables. OVERVIEW.md gets the run's ratios of compile time. `report.py --trace RESULTS.json` prints the section about tracing in user space alone.

Every figure in them comes from RESULTS.json (and docs/kernels.md, for the grid of verdicts). tests/bench does it again and compares."""
import json
import os
import re
import statistics
import sys

PUBLISHED = [  # on the mailing lists; million hits a second
    ("J. Olsa, v6 of the nop5 series, July 2025, Intel", "3.148", "2.976", "1.068", "7.038 (nop5)"),
    ("A. Nakryiko, May 2026, Skylake / Milan / Sapphire Rapids / Bergamo, usdt", "3.149 / 2.910 / 1.896 / 3.393", "", "",
     "6.422 / 3.443 / 4.023 / 3.895 (nop5)"),
    ("J. Olsa, nop10 series, May 2026", "3.247", "3.030", "1.124", "7.374 (nop10)"),
    ("Liao Chang, 2024, Kunpeng 916, arm64: stepped -> emulated (ret was emulated before)", "0.916 -> 1.862", "0.908 -> 1.743", "1.840", ""),
]
NOISE = "too noisy to conclude"
MORE = []  # tables that stand at the end of the record


def table(head, rows):
    if not rows:
        return ["(not measured in this run)", ""]
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def elsewhere(title, lines):
    """A section at the end of the record, and the link to it."""
    if not lines:
        return []
    MORE.extend([f"## {title}", "", *lines])
    return [f"More: [{title}](#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')}).", ""]


def plural(count, what):
    return f"{count} {what}" + ("s" if count != 1 else "")


def number(value):
    """Three significant digits, thousands with commas."""
    if value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def spread(values):
    """How far the middle half of the rounds lies apart, in per cent of the median."""
    if len(values) < 4:
        return (max(values) - min(values)) / statistics.median(values) * 100
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / statistics.median(values) * 100


def compared(one, other):
    """The ratio of the medians of two lists of values, or that they cannot be told apart."""
    a, b = statistics.median(one), statistics.median(other)
    if max(min(one), min(other)) <= min(max(one), max(other)) and abs(a / b - 1) < (spread(one) + spread(other)) / 100:
        return NOISE
    return f"{a / b:.2f}"


def find(rows, **wanted):
    return [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]


def best(row):
    return (max if row["better"] == "more" else min)(row["values"])


def gain(row, base):
    """How many times as good as the base's: of the best rounds, and of the medians."""
    over, under = (row, base) if row["better"] == "more" else (base, row)
    medians = compared(over["values"], under["values"])
    return medians if medians == NOISE else f"{best(over) / best(under):.2f} ({medians})"


def programs(rows):
    """The entries of what gcc makes; other compilers and returns at the end."""
    shown, more = [], []
    for program, test, compiler, place in dict.fromkeys((r["program"], r["test"], r["compiler"], r["probe_at"]) for r in rows if r["probe_at"]):
        mine = find(rows, program=program, test=test, compiler=compiler)
        lines = shown if place == "entry" and compiler.startswith("gcc") else more
        lines += [f"**{program}, {test}, {compiler}** ({mine[0]['unit']}, {len(mine[0]['values'])} rounds; a counter at the {place} of `{mine[0]['symbol']}`)", ""]
        body = []
        for build in dict.fromkeys(r["build"] for r in mine):
            idle, probed = (find(mine, build=build, probe_at=p)[0] for p in ("", place))
            plain = "plain, CET" if "CET" in build else "plain"
            base = find(mine, build=plain, probe_at=place)[0]
            figures = [f"{number(best(r))} ({number(statistics.median(r['values']))})" for r in (idle, probed)]
            p99 = [f"{min(r['p99_ms']):.3g} ms" if r.get("p99_ms") else "-" for r in (idle, probed)]
            body.append([build, *figures, "1" if build == plain else gain(probed, base), *p99])
        lines += table(["build", "unprobed", "probed", "probed, times as fast as plain", "p99 unprobed", "p99 probed"], body)
    return shown + elsewhere("Programs, compiled by clang, and with a probe at the return", more) or table([], [])


def hits(rows):
    native, guests = [], []
    for hardware, lines in (("native", native), ("emulated", guests)):
        for kernel in dict.fromkeys(r["kernel"] for r in find(rows, hardware=hardware)):
            mine = find(rows, hardware=hardware, kernel=kernel)
            lines += [f"**{kernel}**", ""]
            ways = list(dict.fromkeys((r["by"], r["threads"]) for r in mine))
            body = []
            for site in dict.fromkeys(r["site"] for r in mine):
                row = find(mine, site=site)
                first = row[0]
                cells = [f"`{site}`", first.get("series", ""), first.get("verdict", "-")]
                for by, threads in ways:
                    way = find(row, by=by, threads=threads)
                    if not way or "ns" not in way[0]:
                        cells.append(way[0].get("error", "-") if way else "-")
                        continue
                    best = min(way[0]["ns"])
                    cells.append(f"{number(best)} ns, {threads * 1000 / best:.3g} M/s" if site != "unprobed" else f"{number(best)} ns")
                body.append(cells)
            lines += table(["first instruction", "published as", "verdict", *(f"{by}, {plural(n, 'thread')}" for by, n in ways)], body)
    return native + elsewhere("Hits in guests",
                              guests and ["Debian's kernels under QEMU without KVM, where only ratios within a table count.", "",
                                          *guests]) or table([], [])


def idle_of(rows, row):
    """The row of the same loop without a tracer."""
    return find(rows, what="hit", action="idle", variant=row["variant"], loop=row["loop"], threads=row["threads"])


def costs(rows):
    """A table of ways, and what fills cells of others: cells(tool, action, base)."""
    mine = find(rows, what="hit")
    threads = list(dict.fromkeys(r["threads"] for r in mine))

    def over(row, other):
        a, b = row["ns"], other["ns"]
        return f"{min(a) - min(b):.2f} ({statistics.median(a) - statistics.median(b):.2f})"

    def cells(tool, action, base):
        """`base`: the row to subtract, for one of the tool's."""
        found = []
        for n in threads:
            row = find(mine, tool=tool, action=action, threads=n)
            other = base(row[0]) if row else []
            found.append(over(row[0], other[0]) if other else "-")
        return found

    body = [[tool, action, *cells(tool, action, lambda r: idle_of(mine, r))]
            for tool, action in dict.fromkeys((r["tool"], r["action"]) for r in mine) if action != "idle"]
    return mine, threads, cells, table(["tool", "what", *(plural(n, "thread") for n in threads)], body)


def trace(rows):
    """Nothing where the part was not measured: its section is left out."""
    if not rows:
        return []
    mine, threads, cells, ways = costs(rows)
    lines = ["Processor nanoseconds of a turn of a loop, less those of the same loop of the same program without a tracer: the least of the rounds,",
             "in brackets the median. fastsdt-trace, bpftrace and perf stat add up where the event happens and write nothing; LTTng-UST, uftrace and XRay's FDR",
             "write each event to a trace, so they do more work for it. A latency is two hits and two times of the clock.", "",
             *ways]
    if find(mine, action="sum of an argument"):
        load = cells("fastsdt-trace", "sum of an argument", lambda r: find(mine, tool=r["tool"], action="sum of a constant", threads=r["threads"]))
        lines += [f"Reading an argument takes {', '.join(load)} ns ({', '.join(plural(n, 'thread') for n in threads)}): the difference of the two sums.", ""]
    lines += [f"Bytes of the program's text that differ from its file after detaching: {max([r['changed_bytes'] for r in find(mine, action='after detaching')], default='-')}.", "",
              *elsewhere("Instructions of a hit", [
                  "Those that fastsdt-trace adds to the program's own, counted by single steps (`bench_stubs`):", "",
                  *table(["what", "instructions"], [[r["action"], r["instructions"]] for r in find(rows, what="instructions")])]),
              "Eight threads of the process, while fastsdt-trace attaches to it and arms its sites: the longest delay of any of them in each run, and in 0.3 s without.",
              "They sleep 0.1 ms at a time, or compute; those that compute wait for each other where there are fewer processors.", ""]
    lines += table(["sites", "threads", "longest delay, ms: median of the runs (worst)", "without", "attached after, s"],
                   [[f"{r['sites']:,}", r["loop"],
                     *(f"{statistics.median(r[k]):.2f} ({max(r[k]):.2f})" for k in ("late_ms", "without_ms")),
                     f"{statistics.median(r['attach_s']):.3f}"] for r in find(rows, what="stop")])
    for test in dict.fromkeys(r["test"] for r in find(rows, what="program")):
        some = find(rows, what="program", test=test)
        none = find(some, tool="-")[0]["values"]
        lines += [f"**{some[0]['program']}, {test}, {some[0]['compiler']}, fastprobe nop10** ({some[0]['unit']}, median of {len(none)} rounds; a counter on `{some[0]['symbol']}`)", "",
                  *table(["counted by", "throughput", "spread", "to nobody"],
                         [["nobody" if r["tool"] == "-" else r["tool"], number(statistics.median(r["values"])), f"{spread(r['values']):.0f} %",
                           "1" if r["tool"] == "-" else compared(r["values"], none)] for r in some])]
    return lines


def kernel(rows):
    tools = ["fastsdt-trace", "fastsdt-trace --engine kernel", "bpftrace"]
    hits = [r for r in rows if r["what"] == "hit"]
    idle = {(r["loop"], r["threads"]): min(r["ns"]) for r in hits if r["action"] == "idle"}
    actions = list(dict.fromkeys((r["action"], r["threads"]) for r in hits if r["action"] != "idle"))

    def cell(action, threads, tool):
        row = next((r for r in hits if (r["action"], r["threads"], r["tool"]) == (action, threads, tool)), None)
        return f"{min(row['ns']) - idle[row['loop'], threads]:,.0f}" if row else "-"

    attached = {(r["tool"], r["sites"]): r for r in rows if r["what"] == "attach"}
    sites = sorted({n for _, n in attached})
    return ["Nanoseconds of a processor for a turn of the loop, less the loop alone: the least of the rounds. The same sites and scripts; the kernel's engine and bpftrace take a trap",
            "at the nop1. A turn of a latency has two hits.", "",
            *table(["script", "threads", "engine user", "engine kernel", "bpftrace"],
                   [[a, t, *(cell(a, t, tool) for tool in tools)] for a, t in actions]),
            "Seconds from the tool's start until all sites count, and from an interrupt until it has ended: medians. bpftrace has a limit of 512 probes.", "",
            *table(["sites", *(f"{tool}: {what}" for tool in ("engine user", "engine kernel", "bpftrace") for what in ("armed", "ended"))],
                   [[f"{n:,}", *(f"{statistics.median(attached[tool, n][key]):.2f}" if (tool, n) in attached else "-" for tool in tools
                                 for key in ("armed_s", "ended_s"))]
                    for n in sites])]


def events(rows):
    if not rows:
        return []
    lines = ["Processor nanoseconds of a hit, less those of the same loop without a tracer: the least of the rounds, in brackets the median. This is a run of its own, so compare within",
             "it: the rows of `count` say how fast the machine was beside that of the section above. In the other rows each hit becomes a line of a file or an event of a trace. Other",
             "threads read what is recorded; eight threads of the program share two processors with them.", "",
             *costs(rows)[3]]
    if kept := find(rows, what="kept up"):
        lines += ["Two threads record each hit while `record` writes the trace: 10,000 hits of each in a burst at the beginning of each millisecond, or as many as they can at once.",
                  "babeltrace2 counts the events that were written; fastsdt-trace reports the others as lost. A buffer that holds all of them is new memory from the first to the last event.", "",
                  *table(["hits", "buffer of a thread", "hits/s", "written", "lost", "bytes an event"],
                         [[{"steady": "in bursts", "site": "all at once"}[r["loop"]], r["buffer"], number((r["events"] + r["lost"]) / r["seconds"]),
                           f"{r['events']:,}", f"{r['lost']:,}", f"{r['bytes'] / r['events']:.1f}"] for r in kept]), ""]
    return lines


def disabled(rows):
    """gcc's, of other projects' headers and of fastsdt.h as it is; other layouts and compilers at the end."""
    shown, more = [], []
    head = ["header, layout", "arguments", "ns", "spread", "instructions", "bytes of code"]
    for compiler in dict.fromkeys(r["compiler"] for r in rows):
        base = {r["arguments"]: r for r in find(rows, compiler=compiler, header="none")}
        body = []
        for row in find(rows, compiler=compiler):
            if row["header"] == "none":
                continue
            none = base[row["arguments"]]
            body.append([row["header"], row["arguments"], f"{statistics.median(row['ns']) - statistics.median(none['ns']):.3f}",
                         f"{spread(row['ns']):.0f} %", f"{row['instructions'] - none['instructions']:.2f}", f"{row['bytes'] - none['bytes']:.1f}"])
        if not shown:
            default = [row for row in body if row[0] in ("systemtap's sys/sdt.h", "libbpf's usdt.h", "nop1_nop10")]
            shown = [f"**{compiler}**", "", *table(head, default)]
            body = [row for row in body if row not in default]
        more += [f"**{compiler}**", "", *table(head, body)]
    return shown + elsewhere("Sites of other layouts, and compiled by clang", more) or table([], [])


def runtimes(rows):
    def more(row, none, what):
        return "-" if row is none else f"{row[what] - none[what]:+,} ({(row[what] / none[what] - 1) * 100:+.2f} %)"

    lines = []
    server, tcl = find(rows, program="PostgreSQL"), find(rows, program="Tcl")
    if server:
        lines += ["PostgreSQL 15, `./configure --enable-dtrace`, its own probes. Instructions: one backend that looks up accounts by their number, counted by",
                  "callgrind. Transactions: `pgbench -S -M prepared -c 8`, in turn, seven rounds.", "",
                  *table(["header", "sites", "text of `size`", "more", "instructions of a query", "more", "transactions/s", "spread", "to no probes"],
                         [[row["header"], row["sites"], f"{row['text']:,}", more(row, server[0], "text"), f"{row['instructions']:,}",
                           more(row, server[0], "instructions"),
                           number(statistics.median(row["values"])), f"{spread(row['values']):.0f} %",
                           "1" if row is server[0] else compared(row["values"], server[0]["values"])]
                          for row in server])]
    if tcl:
        lines += ["Tcl 8.6, `--enable-dtrace`, GCC: libtcl's text, and the instructions of a small Tcl program (`bench/tcl.sh`):", "",
                  *table(["header", "text of `size`", "more", "instructions", "more"],
                         [[row["header"], f"{row['text']:,}", more(row, tcl[0], "text"), f"{row['instructions']:,}",
                           more(row, tcl[0], "instructions")] for row in tcl])]
    return lines or table([], [])


def attach(rows):
    return table(["interface, sites", "attach, s", "detach, s"],
                 [[f"{r['interface']}, {r['sites']:,}",
                   *([r["why"], "-"] if "why" in r else [f"{statistics.median(r[k]):.3f} ({spread(r[k]):.0f} %)" for k in ("attach_s", "detach_s")])]
                  for r in rows if "interface" in r]) + [
        "The same by tools, measured once from their start on (`bench/probe.py`). The probed process creates threads and forks as fast as it can; a thread of it",
        "sleeps a millisecond at a time. The ratios are to the same process before the tool came.", "",
        *table(["tool, sites", "attach, s", "detach, s", "threads/s to unprobed", "forks/s to unprobed", "longest stall, ms", "stall before"],
               [[r["tool"], r["attach_s"], r["detach_s"], r["threads_ratio"], r["forks_ratio"], r["stall_ms"], r["stall_without_ms"]] for r in rows
                if "tool" in r])]


def stops(rows):
    kernels = ", ".join(sorted({f"Linux {r['kernel']}" for r in rows}))
    return ["fastsdt-trace's engine attaches to a process, arms a site, disarms it and detaches. One thread reads the clock all the time; the others sleep, or compute.",
            "The longest time between two readings of a run, in ms: the least, the median and the 90th percentile of the runs; and the same in as much time without a tracer. Where more",
            f"threads compute than there are processors, each step of the tracer waits for one as every thread does (`bench_stops`, {kernels}).", "",
            *table(["threads", "least", "median", "90 %", "without, median", "without, 90 %", "a run, ms", "refused"],
                   [[f"{r['threads']:,} {r['kind'] if r['threads'] > 1 else '(that reads the clock)'}",
                     *(f"{r[k]:,.2f}" for k in ("least_ms", "median_ms", "p90_ms", "without_ms", "without_p90_ms", "run_ms")),
                     f"{r['refused']:.0f}" if "refused" in r else "not recorded"]
                    for r in rows if r["threads"] > 1 or r["kind"] == "asleep"])]


def compile_ratios(rows):
    """Each row about compiling probes, and its ratio to libbpf's header with the same compiler."""
    compiled = find(rows, what="compile")
    return [(r, r["seconds"] / find(compiled, compiler=r["compiler"], header="libbpf")[0]["seconds"]) for r in compiled]


def build(rows):
    lines = ["2000 probes of three arguments in one file; processor time, the least of the runs, and its ratio to libbpf's header (`bench/compile.sh`). `asm` is a",
             "plain nop with the same operands, `FASTSDT` is fastsdt.h, `STAP_PROBE3` and `USDT` are our headers under the others' names.", ""]
    lines += table(["compiler", "header", "seconds", "ratio", "bytes of object file for a probe"],
                   [[r["compiler"], r["header"], r["seconds"], f"{ratio:.2f}", int(r["object"])] for r, ratio in compile_ratios(rows)])
    grown = find(rows, what="growth")
    linkers = [k[:-2] for k in (grown[0] if grown else {}) if k.endswith("_s") and k != "as_s"]
    lines += elsewhere("Growth of assembler and linkers", [
        "All sites in one file; processor seconds of the assembler and of each linker:", "",
        *table(["header", "sites", "as", *linkers, "bytes of the object file"],
               [[r["header"], f"{r['sites']:,}", r["as_s"], *(r.get(f"{k}_s", "-") for k in linkers), f"{r['object']:,}"] for r in grown])])
    share = find(rows, what="fastprobe")
    if share:
        kernels = list(share[0]["cheap"])
        lines += ["fastprobe on SQLite: functions whose entry a kernel emulates or optimizes, those whose entry 7.2 optimizes, size of .text, and the time of speedtest1",
                  "and of the compiler as ratios to the build without fastprobe (`bench/fastprobe.sh`):", "",
                  *table(["compiler", "entry=", "functions", *(f"cheap on {k}" for k in kernels), "optimized", ".text", "more", "run", "compiling"],
                         [[r["compiler"], r["mode"], r["entries"], *(f"{r['cheap'][k]:.1f} %" for k in kernels), f"{r['optimized']:.1f} %",
                           f"{r['text']:,}", f"{r['text_growth']:+.2f} %",
                           *("-" if r[k] is None else f"{r[k]:.3f}" for k in ("run_ratio", "compile_ratio"))] for r in share])]
    made_by = find(rows, what="dtrace")
    if made_by:
        lines += [f"`dtrace -h` for {made_by[0]['probes']:,} probes, processor seconds:", "",
                  *table(["tool", "seconds", "spread", "ratio"],
                         [[r["tool"], f"{statistics.median(r['seconds']):.4f}", f"{spread(r['seconds']):.0f} %",
                         "1" if r is made_by[0] else compared(r["seconds"], made_by[0]["seconds"])] for r in made_by])]
    return lines


def tools(rows):
    files = [r for r in rows if "tool" in r]
    head = ["file", "tool", "processor seconds", "spread", "peak MB", "to readelf -n"]
    body = [[r["file"], r["tool"], f"{statistics.median(r['seconds']):.3f}", f"{spread(r['seconds']):.0f} %", r["megabytes"],
             compared(r["seconds"], find(files, file=r["file"], tool="readelf -n")[0]["seconds"]) if r["tool"] != "readelf -n" else "1"]
             for r in files]
    first = [row for row in body if row[0] in ("20,000 probes", files[-1]["file"])]
    lines = table(head, first) + elsewhere("The tools, with other numbers of probes", table(head, [row for row in body if row not in first]))
    for row in find(rows, what="index"):
        lines += [f"fastsdt-index turns a file with {row['entries']:,} function entries and nothing else from {row['before']:,} bytes into {row['after']:,}. Then, for one address:", "",
                  *table(["what", "ns"], [[name, number(ns)] for name, ns in row["lookup_ns"].items()])]
    return lines


def fleet(rows):
    """Attaching to many processes, and the service."""
    return [*table(["processes", "s until all are armed", "of a processor", "s to detach", "RSS, MB", "PSS, MB"],
                   [[f"{r['processes']:,}", r["seconds"], r["processor_s"], r["detach_s"], r["rss"], r["pss"]] for r in find(rows, what="attach")]),
            "`fastsdt-trace serve`, whose processes make ten hits a second; seconds of a processor for a minute, of the service and of one target:", "",
            *table(["processes", "service", "target, not traced", "target, traced", "RSS, MB", "PSS, MB"],
                   [[r["processes"], r["processor_s_a_minute"], r["target_untraced_s_a_minute"], r["target_traced_s_a_minute"], r["rss"],
                     r["pss"]] for r in find(rows, what="serve")]),
            "An answer to Prometheus, median of 11, over HTTP and without it:", "",
            *table(["series", "ms", "to make it, ms", "spread", "KB", "RSS, MB"],
                   [[f"{r['series']:,}", number(statistics.median(r["ms"])), number(statistics.median(r["made_ms"])), f"{spread(r['ms']):.0f} %",
                     r["kilobytes"], r["rss"]]
                    for r in find(rows, what="scrape")])]


def machine_of(results):
    machine = results["machine"]
    return [f"{machine['processor']}, {machine['processors']} processors, hypervisor {machine['hypervisor']}, Linux {machine['kernel']}, {machine['system']}, {machine['gcc']}.", ""]


def summary(rows):
    """The answers in one table, as far as they were measured."""
    body = []
    gcc = next((r["compiler"] for r in rows["programs"] + rows["disabled"] if r["compiler"].startswith("gcc")), None)

    def answer(what, section, of, values):
        if values:
            body.append([f"[{what}](recorded/performance.md#{section})", " / ".join(of), " / ".join(values)])

    builds = ("plain", "fastprobe")
    probed = [row for build in builds for row in find(rows["programs"], program="Redis", test="SET", compiler=gcc, probe_at="entry", build=build)]
    answer("Redis, gcc, SET with a counter on one function: requests/s", "programs-under-a-probe", builds, [number(best(row)) for row in probed])
    for kernel in dict.fromkeys(r["kernel"] for r in rows["hits"]):
        hit = {r["site"]: r for r in find(rows["hits"], kernel=kernel, by="bpf", threads=1) if "ns" in r}
        hit = [hit[site] for site in ("ret", "push %rbp", "nop1+nop10") if site in hit]
        guest = any(row["hardware"] == "emulated" for row in hit)
        if not guest or hit[-1]["verdict"] == "optimize":
            answer(f"A hit on Linux {kernel}{' in QEMU' if guest else ''}: ns", "a-hit-in-the-kernel",
                   [f"`{r['site']}` ({r['verdict']})" for r in hit], [number(min(r["ns"])) for r in hit])
    counts = find(rows["trace"], what="hit", threads=1, action="count")
    answer("To count a hit: ns", "tracing-in-user-space", [r["tool"] for r in counts],
           [f"{min(r['ns']) - min(idle_of(rows['trace'], r)[0]['ns']):.1f}" for r in counts])
    attached = {r["tool"]: statistics.median(r["armed_s"]) for r in find(rows["kernel"], what="attach", sites=100)}
    answer("From the start until 100 sites count: s", "scripts-in-the-kernel", attached, [f"{seconds:.2f}" for seconds in attached.values()])
    written = find(rows["events"], what="hit", threads=1, action="printf of two integers")
    answer("To print an event: ns", "events", [r["tool"] for r in written],
           [number(min(r["ns"]) - min(idle_of(rows["events"], r)[0]["ns"])) for r in written])
    many = find(rows["fleet"], what="attach")
    answer("Until the sites of N processes are armed: s", "many-processes", [f"{r['processes']:,}" for r in many], [f"{r['seconds']}" for r in many])
    sites = {r["header"]: r for r in find(rows["disabled"], compiler=gcc, arguments=3)}
    headers = [h for h in ("systemtap's sys/sdt.h", "libbpf's usdt.h", "nop1_nop10") if h in sites]
    answer("A site of three arguments that nobody traces: instructions", "a-site-that-nobody-traces", headers,
           [f"{sites[h]['instructions'] - sites['none']['instructions']:.1f}" for h in headers])
    for program in ("PostgreSQL", "Tcl"):
        none, *built = find(rows["runtimes"], program=program) or [None]
        answer(f"{program} with its own probes, which nobody traces: more instructions", "a-program-whose-probes-nobody-traces",
               [r["header"] for r in built],
               [f"{(r['instructions'] / none['instructions'] - 1) * 100:+.2f} %" for r in built])
    attached = find([r for r in rows["attach"] if "why" not in r], sites=100)
    answer("To attach 100 sites and detach them: s", "attaching", [r["interface"] for r in attached],
           [f"{statistics.median(r['attach_s']) + statistics.median(r['detach_s']):.2f}" for r in attached])
    compiled = [(r, ratio) for r, ratio in compile_ratios(rows["build"]) if r["compiler"] == "gcc"
                and r["header"] in ("systemtap", "libbpf", "FASTSDT")]
    answer("To compile a probe with gcc: ratio", "building", [r["header"] for r, _ in compiled], [f"{ratio:.2f}" for _, ratio in compiled])
    readers = find(rows["tools"], file="20,000 probes")[:2]
    answer("To read 20,000 probes: s", "the-tools", [r["tool"] for r in readers], [f"{statistics.median(r['seconds']):.3f}" for r in readers])
    return table(["what", "compared", "measured"], body)


def stepping(rows, machine):
    """What a hypervisor does to the ratios, for those who have none."""
    hit = {r["site"]: min(r["ns"]) for r in find(rows, hardware="native", by="bpf", threads=1) if "ns" in r}
    if machine["hypervisor"] == "none" or "ret" not in hit:
        return []
    source, nop1, _, ret, _ = PUBLISHED[0]
    return [f"This is a virtual machine: a stepped hit takes {hit['ret'] / hit['nop1']:.1f} times as long as an emulated one. On hardware it takes {float(nop1) / float(ret):.1f} times as long",
            f"({source}, published), so fastprobe gains less there. It gains nothing where a compiler already begins the function with an instruction that the",
            "kernel emulates.", ""]


def left_out(results):
    return ["## Not in this run", "", *(f"- {s['what']}: {s['why']}" for s in results["skipped"]), ""] if results["skipped"] else []


def rows_of(results):
    parts = results["parts"]
    return {name: parts.get(name, {}).get("rows", [])
            for name in ("programs", "hits", "trace", "kernel", "events", "stops", "disabled", "runtimes", "attach", "build", "tools", "fleet")}


def document(results):
    """The page of answers: a table, and the pictures."""
    rows = rows_of(results)
    shown = [(part, f"![{text}](recorded/{name}.svg)") for part, text, name in (
        ("programs", "Requests a second of Redis with a counting probe", "redis"),
        ("hits", "Nanoseconds for a hit, by first instruction and kernel", "hits"),
        ("trace", "What an event costs, by tool", "trace"), ("disabled", "Instructions and bytes of a site", "disabled"))]
    lines = ["# What a probe costs", "",
             "What does a probe cost, and what does fastsdt gain? `bench/report.py` wrote this page from the run that [recorded/performance.md](recorded/performance.md) has with all tables;",
             "`scripts/bench.sh` measures your machine.", "",
             *machine_of(results),
             *summary(rows),
             *stepping(rows["hits"], results["machine"]),
             *(line for part, picture in shown if part in results["parts"] for line in (picture, ""))]
    return "\n".join(lines).rstrip() + "\n"


def record(results):
    """All tables, a section for each part of the run."""
    parts, rows = results["parts"], rows_of(results)

    def section(title, part, lines, picture=None):
        if part not in parts:
            return []
        here = results["machine"]
        other = "".join(f", {word}{parts[part][name]}" for name, word in (("kernel", "Linux "), ("processor", ""))
                        if parts[part].get(name, here[name]) != here[name])
        shown = [f"![{picture[0]}]({picture[1]}.svg)", ""] if picture else []
        return [f"## {title}", "", f"`{results['command']} --only {part}`, {parts[part]['date']}, commit {parts[part]['commit']}{other}.", "", *shown,
                *lines]

    lines = ["# Performance: all tables", "",
             "What was measured, with what, and how much do runs differ? This is one run of `scripts/bench.sh`, written by `bench/report.py` from [performance.json](performance.json).",
             "[performance.md](../performance.md) has the answers. Only the published figures of others are not from this run.", "",
             *machine_of(results),
             "Things that are compared run in turn, round by round. Each section says which value of the rounds it shows; the spread is that of the middle half of the",
             "rounds, in per cent of the median. \"Too noisy to conclude\" means that the rounds of both overlap and that their medians differ by less than both",
             "spreads together. Instructions are counted by valgrind's callgrind.", "",
             *section("Programs under a probe", "programs", [
                 "The best round, and in brackets the median: other load on the machine can only slow a round down. The 99th percentile is the least of the",
                 "rounds. `fastprobe` and `fastprobe nop10` are compiled with the plugin, `entry=auto` and `entry=nop10`; CET is `-fcf-protection=full`.", "",
                 *programs(rows["programs"])]),
             *section("A hit in the kernel", "hits", [
                 "The least of the rounds. The program probes functions of its own and calls them; `perf` counts by a perf event, `bpf` by a BPF program. A site",
                 "`nop1+nop10` is probed where `fastsdt-check --plan` says. `return:` is a return probe on a function that begins so. The verdict is fastsdt-check's: `xol` is",
                 "stepped, with two traps; `emulate` has one; `optimize` none. An unsafe one makes programs go wrong ([kernels.md](../kernels.md), where the grid is a table).",
                 "`published as` is its name in the kernel's own benchmark, `bench_trigger.c` of the BPF selftests.", "",
                 *hits(rows["hits"]),
                 "Published figures, of other people's machines (million hits a second, one thread, a BPF counter):", "",
                 *table(["source", "nop1", "push", "stepped (ret)", "optimized"], PUBLISHED),
                 "![What each kernel does at each instruction](kernels.svg)", ""]),
             *section("Tracing in user space", "trace", trace(rows["trace"])),
             *section("Scripts in the kernel", "kernel", kernel(rows["kernel"])),
             *section("Events", "events", events(rows["events"])),
             *section("Standing still", "stops", stops(rows["stops"])),
             *section("A site that nobody traces", "disabled", [
                 "A loop with ten sites and a little work between them, less the same loop without sites, for one site: the median. `nop1_nop10` is fastsdt.h's default on",
                 "x86-64; a bound is a power of two whose multiples the site's nop10 does not cross (6 where none is named).", "",
                 *disabled(rows["disabled"])]),
             *section("A program whose probes nobody traces", "runtimes", runtimes(rows["runtimes"])),
             *section("Attaching", "attach", [
                 "Seconds to attach probes to sites of one process and to detach them, by the kernel's interfaces (`bench_attach`): the median, and the spread.", "",
                 *attach(rows["attach"])]),
             *section("Building", "build", build(rows["build"]), ("Growth of assembler and linkers", "growth")),
             *section("The tools", "tools", tools(rows["tools"]), ("Time and memory by number of probes", "tools")),
             *section("Many processes", "fleet", fleet(rows["fleet"])),
             *MORE, *left_out(results)]
    return "\n".join(lines).rstrip() + "\n"


def write(name, text):
    with open(name + ".new", "w") as out:
        out.write(text)
    os.rename(name + ".new", name)


def main():
    if sys.argv[1:2] == ["--trace"] and len(sys.argv) == 3:
        with open(sys.argv[2]) as text:
            results = json.load(text)
        rows = results["parts"].get("trace", {}).get("rows", [])
        print("\n".join(["## Tracing in user space", "", *machine_of(results), *trace(rows), *MORE, *left_out(results)]).rstrip())
        return
    arguments = [each for each in sys.argv[1:] if each != "--no-pictures"]
    if len(arguments) not in (3, 4):
        sys.exit(__doc__.splitlines()[0])
    source, target, folder, *overview = arguments
    with open(source) as text:
        results = json.load(text)
    os.makedirs(folder, exist_ok=True)
    if "--no-pictures" not in sys.argv:
        import pictures  # wants matplotlib

        pictures.draw(results, folder, idle_of)
    write(target, document(results))
    write(os.path.join(folder, "performance.md"), record(results))
    for name in overview:
        ratio = {r["header"]: f"{ratio:.1f}" for r, ratio in compile_ratios(results["parts"]["build"]["rows"]) if r["compiler"] == "gcc"}
        with open(name) as text:
            write(name, re.sub(r"(?m)^(\| CPU time to compile .*?) \| [\d.]+ \| 1 \| [\d.]+ \|$",
                               rf"\1 | {ratio['systemtap']} | 1 | {ratio['FASTSDT']} |", text.read()))


if __name__ == "__main__":
    main()
