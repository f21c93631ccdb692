# SPDX-License-Identifier: BSD-2-Clause
"""What a hit costs when fastsdt-trace counts it in user space, and what others take on the same program; what the program suffers when
its sites are armed; Redis under each."""
import json
import os
import shutil
import time

from parts import programs
from run import Unavailable
from tracers import ARMED, SITE, Detached, Idle, Lttng, Perf, Script, Target, Uftrace, Xray, started, stopped, total

TITLE = "Tracing in user space"
LIVE = True
FASTPROBE = [f"-fplugin-arg-fastprobe-{argument}" for argument in ("entry=nop10", "exit=nop10", "include=^work$")]
LATENCY = "usdt:FILE:bench:begin { @s[tid] = nsecs; } usdt:FILE:bench:end /@s[tid]/ { @ns = hist(nsecs - @s[tid]); delete(@s[tid]); }"

# What is counted: name, loop of traced.c, script, whether the one map's total is the number of passes, or twice that.
SCRIPTS = [("count", "site", SITE % "@ = count();", True), ("count by integer key", "site", SITE % "@[arg0] = count();", True),
           ("hist", "site", SITE % "@ = hist(arg0);", True), ("sum of a constant", "site", SITE % "@ = sum(1);", True),
           ("sum of an argument", "site", SITE % "@ = sum(arg0);", False), ("latency between two probes", "pair", LATENCY, True),
           ("count of entries", "call", "uprobe:FILE:work { @ = count(); }", True),
           ("count of entries and of exits", "call", "uprobe:FILE:work { @ = count(); } uretprobe:FILE:work { @ = count(); }", "twice")]


def build(bench):
    """variant -> program; those that cannot be built here are left out and said."""
    folder, source = bench.folder("trace"), f"{bench.top}/bench/traced.c"
    gcc = next(bench.compilers(("gcc",)), None)
    clang = next(bench.compilers(("clang",)), None)
    if not gcc:
        raise Unavailable("fastprobe was not built for GCC")
    commands = {"fastsdt": [gcc[0], f"-fplugin={gcc[2]}", *FASTPROBE], "lttng": [gcc[0], "-DWITH_LTTNG", f"-I{bench.top}/bench"],
                "uftrace": [gcc[0], "-pg"],
                "xray": [clang[0] if clang else "clang", "-DWITH_XRAY", "-fxray-instrument"]}
    needs = {"uftrace": "uftrace", "lttng": "lttng-sessiond"}
    built = {}
    for variant, command in commands.items():
        tool, file = needs.get(variant), f"{folder}/traced-{variant}"
        try:
            if tool and not shutil.which(tool):
                raise Unavailable(f"{tool} is not installed")
            bench.run([*command, "-O2", "-pthread", source, "-o", file, *(["-llttng-ust", "-ldl"] if variant == "lttng" else [])])
        except (Unavailable, OSError) as why:
            bench.skip(variant, str(why))
            continue
        built[variant] = file
    if "fastsdt" not in built:
        raise Unavailable("the program with probes cannot be compiled")
    return built


def all_ways(bench, built):
    ways = [Idle("fastsdt", "site"), Idle("fastsdt", "pair"), Idle("fastsdt", "call"), Detached()]
    tools = ["fastsdt-trace"] + (["bpftrace"] if shutil.which("bpftrace") else [])
    if len(tools) == 1:
        bench.skip("bpftrace", "it is not installed")
    # The difference of the two sums is the cost of loading an argument, which cannot be seen beside a trap.
    ways += [Script(tool, *script) for tool in tools for script in SCRIPTS if tool == "fastsdt-trace" or not script[0].startswith("sum")]
    if shutil.which("perf") and os.path.exists("/sys/kernel/tracing/uprobe_events"):
        ways.append(Perf("perf stat", "count", "site"))
    else:
        bench.skip("perf", "it is not installed, or tracefs is not mounted")
    if "lttng" in built:
        ways += [Idle("lttng", "site"), Lttng()]
    if "uftrace" in built:
        ways += [Idle("uftrace", "call"), Uftrace()]
    if "xray" in built:
        ways += [Idle("xray", "call"), Xray("handler"), Xray("fdr")]
    return ways


def hits(bench, built, threads, ways):
    """Each way with a process and a copy of its program, since a uprobe is on a file. The rounds go through them."""
    running, rows = [], []
    for number, way in enumerate(ways):
        file = f"{os.path.dirname(built[way.variant])}/{number}-{threads}"
        shutil.copy(built[way.variant], file)
        try:
            way.start(bench, file, threads)
            way.target.calibrate(20 if bench.quick else 60, way.most)
        except Unavailable as why:
            bench.skip(f"{way.tool}, {way.action}, {threads} threads", str(why))
            continue
        running.append((way, []))
    for _ in range(5 if bench.quick else 15):
        for way, ns in running:
            ns.append(round(way.target.time(way.target.turns), 3))
    for way, ns in running:
        try:
            way.finish(bench)
        except Unavailable as why:
            bench.skip(f"{way.tool}, {way.action}, {threads} threads", str(why))
            continue
        rows.append({"what": "hit", "tool": way.tool, "action": way.action, "loop": way.loop, "variant": way.variant, "threads": threads, "ns": ns,
                     **({"changed_bytes": way.changed} if isinstance(way, Detached) else {})})
        os.unlink(way.target.file)
    return rows


def stops(bench, sites, loop):
    """How late threads were while fastsdt-trace armed that many sites, and without it."""
    gcc = next(bench.compilers(("gcc",)))[0]
    file = f"{bench.folder('trace')}/many-{sites}"
    if not os.path.exists(file):
        bench.run([gcc, "-O1", "-pthread", f"-DMANY=S{sites}", f"{bench.top}/bench/traced.c", "-o", file])
    threads, late, without, took = 8, [], [], []
    for _ in range(3 if bench.quick else 10):
        target = Target(file, threads, loop)
        target.ask(loop)
        time.sleep(0.3)
        without.append(target.ask("end") / 1e6)
        target.ask(loop)
        time.sleep(0.05)
        start = time.monotonic()
        tracer = started([bench.bin("fastsdt-trace"), "--engine", "user", "-p", str(target.process.pid), "-e",
                          f'interval:ms:10 {{ printf("armed\\n"); }} usdt:{file}:bench:many {{ @ = count(); }}'], "armed")
        took.append(round(time.monotonic() - start, 4))
        late.append(target.ask("end") / 1e6)
        said = stopped(tracer)
        if f"sites {sites} of {sites} armed" not in said:
            raise Unavailable(f"{sites} sites: {said.strip().splitlines()[-1:]}")
        target.end()
    return {"what": "stop", "sites": sites, "loop": loop, "threads": threads, "late_ms": late, "without_ms": without, "attach_s": took}


def redis(bench):
    """Throughput by who counts siphash()."""
    program = programs.Redis()
    name, _, plugin = next(bench.compilers(("gcc",)))
    build_of = next(b for b in programs.BUILDS if b[0] == "fastprobe nop10")
    folder = bench.folder(f"{program.name}-{name}-fastprobe-nop10")
    bench.say("Redis")
    program.build(bench, folder, name, programs.flags_of(build_of, plugin))
    values, hits_of = {}, {}
    tools = ["-", "fastsdt-trace"] + (["bpftrace"] if shutil.which("bpftrace") else [])
    for _ in range(3 if bench.quick else 7):
        for tool in tools:
            pid, file = program.start(folder)
            tracer = None
            try:
                if tool != "-":
                    script = f"{ARMED} uprobe:{file}:{program.symbol} {{ @ = count(); }}"
                    command = [bench.bin("fastsdt-trace"), "--engine", "user", "--json"] if tool == "fastsdt-trace" else ["bpftrace", "-f", "json"]
                    tracer = started([*command, "-p", str(pid), "-e", script], "armed")
                measured = program.measure(bench, tool == "bpftrace")
                if tracer:
                    hits_of[tool] = total(stopped(tracer))
                    if not hits_of[tool]:
                        raise Unavailable(f"{tool}: {program.symbol} was not hit")
            finally:
                if tracer and tracer.poll() is None:
                    tracer.kill()
                program.stop()
            for test, value in measured.items():
                values.setdefault((test, tool), []).append(value["value"])
    return [{"what": "program", "program": program.name, "test": test, "unit": program.unit, "symbol": program.symbol, "compiler": name, "tool": tool,
             "values": v,
             "hits": hits_of.get(tool, 0)} for (test, tool), v in values.items()]


def instructions(bench):
    """Of each kind of stub, by single steps: a jump takes the place of a nop, so the difference to an idle site is the stub."""
    said = json.loads(bench.run([bench.bin("bench_stubs"), "--benchmark_format=json", "--benchmark_min_time=0.01"]))
    turns = {row["name"]: round(row["instructions"]) for row in said["benchmarks"]}
    idle = turns.pop("idle")
    return [{"what": "instructions", "action": name, "instructions": turn - idle} for name, turn in turns.items()]


def measure(bench):
    if os.uname().machine != "x86_64":
        raise Unavailable("the engine arms x86-64 so far")
    rows = instructions(bench)
    built = build(bench)
    for threads in (1, 8) if bench.quick else (1, 2, 8):
        bench.say(f"hits, {threads} threads")
        rows += hits(bench, built, threads, all_ways(bench, built))
    for sites in (1, 100) if bench.quick else (1, 100, 10000):
        for loop in ("sleep", "compute"):
            bench.say(f"arming {sites} sites, threads that {loop}")
            rows.append(stops(bench, sites, loop))
    return rows + bench.piece("Redis", redis)
