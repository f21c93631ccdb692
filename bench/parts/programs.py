# SPDX-License-Identifier: BSD-2-Clause
"""Whole programs under a counting probe on one of their hot functions: as compiled, and compiled with fastprobe."""
import csv
import os
import re
import signal
import subprocess
import time

from run import Unavailable

TITLE = "Whole programs under a probe"
LIVE = True

# How they are compiled: name, flags of the compiler, the plugin's entry mode.
BUILDS = [("plain", [], None), ("fastprobe", [], "auto"), ("fastprobe nop10", [], "nop10"),
          ("plain, CET", ["-fcf-protection=full"], None), ("fastprobe, CET", ["-fcf-protection=full"], "auto")]


def flags_of(build, plugin):
    _, flags, mode = build
    return flags + ([f"-fplugin={plugin}", f"-fplugin-arg-fastprobe-entry={mode}"] if mode else [])


class Redis:
    """SET and GET of redis-benchmark, 50 clients, 16 requests at a time; the probe counts siphash(), which hashes a key."""
    name, symbol, unit, better = "Redis", "siphash", "requests/s", "more"

    def build(self, bench, folder, command, flags):
        if not os.path.exists(f"{folder}/src/redis-server"):
            subprocess.run(["cp", "-r", bench.source("redis") + "/.", folder], check=True)
            # Redis' own makefile wants -flto in OPTIMIZATION; -O2 alone is what distributions and the published figures use.
            bench.run(["make", "-C", f"{folder}/src", f"-j{os.cpu_count()}", "MALLOC=libc", f"CC={command}", "OPTIMIZATION=-O2", "BUILD_TLS=no",
                       f"REDIS_CFLAGS={' '.join(flags)}", "redis-server", "redis-benchmark"])

    def start(self, folder):
        self.socket, self.folder = f"{folder}/socket", folder
        self.server = subprocess.Popen([f"{folder}/src/redis-server", "--port", "0", "--unixsocket", self.socket, "--save", ""],
                                       stdout=subprocess.DEVNULL)
        while not os.path.exists(self.socket):
            if self.server.poll() is not None:
                raise Unavailable("redis-server ended")
            time.sleep(0.05)
        return self.server.pid, f"{folder}/src/redis-server"

    def measure(self, bench, probed):
        requests = 50000 if probed or bench.quick else 400000
        said = bench.run([f"{self.folder}/src/redis-benchmark", "-s", self.socket, "-c", "50", "-P", "16", "-n", str(requests), "-t", "set,get", "--csv"])
        rows = {row["test"]: row for row in csv.DictReader(said.splitlines())}
        return {test: {"value": float(rows[test]["rps"]), "p99_ms": float(rows[test]["p99_latency_ms"])} for test in ("SET", "GET")}

    def stop(self):
        self.server.terminate()
        self.server.wait()
        if os.path.exists(self.socket):
            os.unlink(self.socket)


class Sqlite:
    """SQLite's speedtest1; the probe counts sqlite3VdbeSerialGet(), which reads a value of a record."""
    name, symbol, unit, better = "SQLite", "sqlite3VdbeSerialGet", "s", "less"

    def build(self, bench, folder, command, flags):
        source = bench.source("sqlite3")
        if not os.path.exists(f"{folder}/speedtest1"):
            bench.run([command, "-O2", "-w", *flags, "-DSQLITE_THREADSAFE=0", f"-I{source}/bld", f"{source}/test/speedtest1.c", f"{source}/bld/sqlite3.c", "-o",
                       f"{folder}/speedtest1", "-lm", "-ldl"])

    # It is started for each measurement and waits for the probe at a FIFO.
    def start(self, folder):
        self.process = subprocess.Popen(["sh", "-c", 'read -r go && exec "$0" --size 25 :memory:', f"{folder}/speedtest1"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self.process.pid, f"{folder}/speedtest1"

    def measure(self, bench, probed):
        said, _ = self.process.communicate("go\n")
        found = re.search(r"TOTAL\.*\s+([\d.]+)s", said)
        if not found:
            raise Unavailable("speedtest1 printed no total")
        return {"speedtest1": {"value": float(found[1])}}

    def stop(self):
        self.process.kill()
        self.process.wait()


def probe(bench, pid, file, symbol):
    """fastsdt-probe, counting; it has attached when this returns."""
    tool = subprocess.Popen([bench.bin("fastsdt-probe"), "--force", "--symbol", symbol, "--pid", str(pid), "--json", file],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in tool.stderr:
        if "attached" in line:
            return tool
    raise Unavailable(f"fastsdt-probe: {line}")


def hits_of(tool):
    tool.send_signal(signal.SIGINT)
    said = tool.communicate()[0]
    found = re.search(r'"hits": ?(\d+)', said)
    return int(found[1]) if found else 0


def measure(bench):
    rows = []
    for program in [Redis()] if bench.quick else [Redis(), Sqlite()]:
        for name, command, plugin in bench.compilers(("gcc",) if bench.quick else ("gcc", "clang")):
            if program.name == "SQLite" and name.startswith("clang") and bench.quick:
                continue
            builds = BUILDS[:2] if bench.quick else BUILDS
            folders = {}
            for build in builds:
                folders[build[0]] = bench.folder(f"{program.name}-{name}-{build[0]}".replace(" ", "-").replace(",", ""))
                bench.say(f"{program.name}, {name}: {build[0]}")
                program.build(bench, folders[build[0]], command, flags_of(build, plugin))
            values = {}
            for _ in range(3 if bench.quick else 7):
                for build in builds:
                    for probed in (False, True):
                        pid, file = program.start(folders[build[0]])
                        tool = probe(bench, pid, file, program.symbol) if probed else None
                        try:
                            for test, value in program.measure(bench, probed).items():
                                row = values.setdefault((build[0], probed, test), {"values": [], "p99_ms": [], "hits": 0})
                                row["values"].append(value["value"])
                                if "p99_ms" in value:
                                    row["p99_ms"].append(value["p99_ms"])
                        finally:
                            if tool:
                                hits = hits_of(tool)
                                if not hits:
                                    raise Unavailable(f"{program.symbol} of {program.name} was not hit")
                                for test in [key for key in values if key[:2] == (build[0], probed)]:
                                    values[test]["hits"] = hits
                            program.stop()
            for (build, probed, test), row in values.items():
                rows.append({"program": program.name, "test": test, "unit": program.unit, "better": program.better, "symbol": program.symbol,
                             "compiler": name, "build": build, "probed": probed, **{k: v for k, v in row.items() if v}})
    return rows
