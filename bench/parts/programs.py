# SPDX-License-Identifier: BSD-2-Clause
"""Whole programs under a counting probe on one of their hot functions: as compiled, and compiled with fastprobe."""
import csv
import os
import re
import shutil
import signal
import subprocess
import tempfile
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
    name, symbol, unit, better, returns = "Redis", "siphash", "requests/s", "more", True

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
        requests = 50000 if bench.quick else 100000 if probed else 1000000
        said = bench.run([f"{self.folder}/src/redis-benchmark", "-s", self.socket, "-c", "50", "-P", "16", "-n", str(requests), "-t", "set,get",
                          "--csv"])
        rows = {row["test"]: row for row in csv.DictReader(said.splitlines())}
        return {test: {"value": float(rows[test]["rps"]), "p99_ms": float(rows[test]["p99_latency_ms"])} for test in ("SET", "GET")}

    def stop(self):
        self.server.terminate()
        self.server.wait()
        if os.path.exists(self.socket):
            os.unlink(self.socket)


class Sqlite:
    """SQLite's speedtest1; the probe counts sqlite3VdbeSerialGet(), which reads a value of a record."""
    name, symbol, unit, better, returns = "SQLite", "sqlite3VdbeSerialGet", "s", "less", False

    def build(self, bench, folder, command, flags):
        source = bench.source("sqlite3")
        if not os.path.exists(f"{folder}/speedtest1"):
            bench.run([command, "-O2", "-w", *flags, "-DSQLITE_THREADSAFE=0", f"-I{source}/bld", f"{source}/test/speedtest1.c",
                       f"{source}/bld/sqlite3.c", "-o",
                       f"{folder}/speedtest1", "-lm", "-ldl"])

    # It is started for each measurement and waits for the probe at a FIFO.
    def start(self, folder):
        self.process = subprocess.Popen(["sh", "-c", 'read -r go && exec "$0" --size 10 :memory:', f"{folder}/speedtest1"],
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


class Postgresql:
    """pgbench's read-only transactions, 8 clients; the probe counts hash_bytes(), which hashes the name of a page, a lock or a catalogue's key."""
    name, symbol, unit, better, returns = "PostgreSQL", "hash_bytes", "transactions/s", "more", False
    SERVER = ["src/timezone", "src/interfaces/libpq", "src/backend/snowball", "src/pl/plpgsql/src", "src/bin/initdb"]
    USER = "nobody"  # the server refuses to be run by root

    def __init__(self, *options):
        self.options = options  # more for its configure script

    def build(self, bench, folder, command, flags):
        if os.path.exists(f"{folder}/data/PG_VERSION"):
            return
        source, make = bench.source("postgresql-15"), ["make", f"-j{os.cpu_count()}", "-C"]
        bench.run([f"{source}/configure", "-q", "--without-readline", "--without-zlib", "--without-icu", f"--prefix={folder}/installed",
                   f"CC={command}",
                   f"CFLAGS=-O2 {' '.join(flags)}", *self.options], cwd=folder)
        bench.run([*make, "src/backend", "generated-headers"], cwd=folder)
        for part in ["src/backend", *self.SERVER, "src/fe_utils", "src/bin/pgbench"]:
            bench.run([*make, part], cwd=folder)
        for part in ["src/backend", *self.SERVER, "src/bin/pgbench"]:
            bench.run(["make", "-C", part, "install"], cwd=folder)
        shutil.rmtree(f"{folder}/data", ignore_errors=True)
        os.mkdir(f"{folder}/data")
        shutil.chown(f"{folder}/data", self.USER)
        bench.run([f"{folder}/installed/bin/initdb", "-D", f"{folder}/data", "--no-locale", "-A", "trust", "-N"], user=self.USER,
                  cwd=f"{folder}/data")
        self.start(folder)
        try:
            self.pgbench(bench, "-i", "-q", "-s", "10")
        finally:
            self.stop()

    def start(self, folder):
        self.folder = folder
        self.sockets = tempfile.mkdtemp(prefix="fastsdt-")  # the name of a socket has 107 bytes
        shutil.chown(self.sockets, self.USER)
        self.server = subprocess.Popen([f"{folder}/installed/bin/postgres", "-D", f"{folder}/data", "-k", self.sockets, "-h", "", "-c", "fsync=off"],
                                       user=self.USER, cwd=f"{folder}/data", stderr=subprocess.PIPE, text=True)
        for line in self.server.stderr:
            if "ready to accept connections" in line:
                return self.server.pid, f"{folder}/installed/bin/postgres"
        raise Unavailable(f"postgres: {line.strip()}")

    def pgbench(self, bench, *arguments):
        return bench.run([f"{self.folder}/installed/bin/pgbench", "-h", self.sockets, "-U", self.USER, *arguments, "postgres"], cwd=self.sockets,
                         env={**os.environ, "LD_LIBRARY_PATH": f"{self.folder}/installed/lib"})

    def measure(self, bench, probed):
        said = self.pgbench(bench, "-S", "-n", "-M", "prepared", "-c", "8", "-t", "1000" if probed else "3000", "-l", "--log-prefix=log")
        micros = sorted(int(line.split()[2]) for log in os.listdir(self.sockets) if log.startswith("log.") for line in open(f"{self.sockets}/{log}"))
        return {"pgbench -S": {"value": float(re.search(r"tps = ([\d.]+)", said)[1]), "p99_ms": micros[len(micros) * 99 // 100] / 1000}}

    def stop(self):
        self.server.send_signal(signal.SIGINT)  # fast shutdown
        self.server.communicate()
        shutil.rmtree(self.sockets)


def probe(bench, pid, file, symbol, recorded, returns):
    """fastsdt-probe, counting in the process and those that it forks; it has attached when this returns. At the entry that fastprobe
    recorded, which in a CET build is behind the endbr64, or at the function's first instruction; and at the return, if asked."""
    tool = subprocess.Popen([bench.bin("fastsdt-probe"), "--force", "--entry" if recorded else "--symbol", symbol, *(["--return"] if returns else []),
                             "--pid", str(pid), "--children", "--json", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in tool.stderr:
        if "attached" in line:
            return tool
    raise Unavailable(f"fastsdt-probe: {line}")


def hits_of(tool):
    tool.send_signal(signal.SIGINT)
    said = tool.communicate()[0]
    found = re.search(r'"hits": ?(\d+)', said)
    return int(found[1]) if found else 0


def compare(bench, program, name, plugin, builds):
    """Rows of one program with one compiler. The rounds go through the builds, unprobed and probed."""
    folders = {}
    for build in builds:
        folders[build[0]] = bench.folder(f"{program.name}-{name}-{build[0]}".replace(" ", "-").replace(",", ""))
        bench.say(f"{program.name}, {name}: {build[0]}")
        program.build(bench, folders[build[0]], name, flags_of(build, plugin))
    values = {}
    for _ in range(3 if bench.quick else 7):
        for build, _, mode in builds:
            for probe_at in ("", "entry", "entry and return") if program.returns else ("", "entry"):
                pid, file = program.start(folders[build])
                tool = hits = None
                try:
                    tool = probe(bench, pid, file, program.symbol, mode is not None, "return" in probe_at) if probe_at else None
                    measured = program.measure(bench, bool(probe_at))
                finally:
                    if tool:
                        hits = hits_of(tool)
                    program.stop()
                if tool and not hits:
                    raise Unavailable(f"{program.symbol} was not hit")
                for test, value in measured.items():
                    row = values.setdefault((build, probe_at, test), {"values": [], "p99_ms": [], "hits": 0})
                    row["values"].append(value["value"])
                    row["p99_ms"] += [value["p99_ms"]] if "p99_ms" in value else []
                    row["hits"] = hits
    return [{"program": program.name, "test": test, "unit": program.unit, "better": program.better, "symbol": program.symbol, "compiler": name,
             "build": build,
             "probe_at": probe_at, **{k: v for k, v in row.items() if v}} for (build, probe_at, test), row in values.items()]


def measure(bench):
    rows = []
    for program in [Redis()] if bench.quick else [Redis(), Sqlite(), Postgresql()]:
        for name, _, plugin in bench.compilers(("gcc",) if bench.quick or program.name == "PostgreSQL" else ("gcc", "clang")):
            rows += bench.piece(f"{program.name}, {name}", compare, program, name, plugin, BUILDS[:2] if bench.quick else BUILDS)
    if not rows:
        raise Unavailable("no program could be measured")
    return rows
