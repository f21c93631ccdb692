#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""services.py SECONDS TABLE SERVICE...: what tests/long/services.sh says, with what it has built."""
import contextlib
import csv
import datetime
import glob
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [f"{top}/bench", f"{top}/tests/engine"]
from run import machine  # noqa: E402
from traced import Traced, difference  # noqa: E402

BIN = f"{top}/build/default/bin"
PAIRS = 16
STIRRED_SECONDS = 10
THROUGHPUT = 0.95
ANOTHER_USER = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
# In a container the files have another path. Its network is its own; only the loopback of it is up.
CONTAINER = ["unshare", "--pid", "--mount", "--ipc", "--uts", "--net", "--cgroup", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             'mount --bind "$0" /mnt && ip link set lo up && exec "$@"']


class Broken(Exception):
    """A promise was broken, or the run cannot go on; the text says how."""


def run(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        raise Broken(f"{' '.join(command)[:150]}: status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def until(what, true):
    """Polls, for at most a minute."""
    end = time.monotonic() + 60
    while not (value := true()):
        if time.monotonic() > end:
            raise Broken(f"a minute was not enough: {what}")
        time.sleep(0.01)
    return value


def processes():
    """pid -> (parent, state, ticks of the processor, those of the children that it has waited for)"""
    found = {}
    for file in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            with open(file, encoding="utf-8", errors="replace") as text:
                words = text.read().rpartition(")")[2].split()
            found[int(file.split("/")[2])] = int(words[1]), words[0], int(words[11]) + int(words[12]), int(words[13]) + int(words[14])
    return found


class Service:
    """One server. `root` is its folder as the server sees it, `folder` as everybody else does."""
    ERRORS = "."  # a line of its log that it must not have

    def __init__(self, folder, contained):
        self.folder, self.contained, self.root = folder, contained, "/mnt" if contained else folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/data", 0o700)
        shutil.chown(f"{folder}/data", "nobody", "nogroup")
        shutil.copy(f"{top}/build/services/box", folder)
        self.prepare()
        command = [*ANOTHER_USER, *([f"{self.root}/box"] if contained else []), *self.command()]
        with open(f"{folder}/log", "wb") as log:
            self.child = subprocess.Popen([*CONTAINER, folder, *command] if contained else command, stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=subprocess.STDOUT, cwd="/", env={**os.environ, **self.environment()})
        self.master = until("the server's start", self.find_master)

    def environment(self):
        return {}

    def find_master(self):
        if self.child.poll() is not None:
            raise Broken(f"the server has ended: {self.log()[-300:]}")
        for pid in [self.child.pid] if not self.contained else [pid for pid, (parent, *_) in processes().items() if parent == self.child.pid]:
            with contextlib.suppress(OSError):
                if os.path.samefile(f"/proc/{pid}/exe", self.file):
                    return pid
        return None

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as text:
            return text.read()

    def begin(self):
        """When it serves, and before it is traced."""
        self.resident = len(self.tree())
        self.logged = len(self.log())

    def errors(self):
        return [line for line in self.log()[self.logged:].splitlines() if re.search(self.ERRORS, line)]

    def client(self, command, **options):
        """Runs it where the server's network is."""
        return run(self.inside(command), **options)

    def inside(self, command):
        return ["nsenter", f"--net=/proc/{self.master}/ns/net", *command] if self.contained else command

    def tree(self):
        """The pids of the master and its descendants."""
        found, now = [self.master], processes()
        for pid in found:
            found += [child for child, (parent, *_) in now.items() if parent == pid]
        return found

    def zombies(self):
        tree = set(self.tree())
        return sum(state == "Z" and pid in tree for pid, (_, state, *_) in processes().items())

    def ticks(self):
        now = processes()
        return sum(sum(now[pid][2:]) for pid in self.tree() if pid in now)

    def quiet(self):
        """No connection, and no process that is there for one; all requests are in the server's statistics then."""
        def is_quiet():
            with open(f"/proc/{self.master}/net/tcp", encoding="ascii") as lines:
                # established, or one side has closed
                used = [line for line in lines if f":{self.port:04X} " in line and line.split()[3] in ("01", "08")]
            return not used and len(self.tree()) == self.resident
        until("connections and processes come to an end", is_quiet)

    def stir(self):
        """Once for each tracer that comes and goes."""

    reload = None  # new workers take the place of the old ones, which have gone when it returns

    def stop(self):
        if self.child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.master if self.master else self.child.pid, signal.SIGINT)
        self.child.wait(60)


class Postgresql(Service):
    name, title = "postgresql", "PostgreSQL 15, `pgbench`, one SELECT of a million rows by key, 8 clients"
    probes = {"@queries": "usdt:*/postgres:postgresql:query__start", "@commits": "usdt:*/postgres:postgresql:transaction__commit"}
    statistic = "pgbench's transactions; `pg_stat_database`"

    def prepare(self):
        self.file = f"{self.folder}/installed/bin/postgres"
        shutil.copytree(f"{top}/build/real-programs/postgresql-gcc-fastsdt/installed", f"{self.folder}/installed")
        run([*ANOTHER_USER, f"{self.folder}/installed/bin/initdb", "-D", f"{self.folder}/data", "--no-locale", "-A", "trust", "-N", "-U", "nobody"],
            cwd="/", env={**os.environ, "LD_LIBRARY_PATH": f"{self.folder}/installed/lib"})
        os.mkdir(f"{self.folder}/client")
        with open(f"{self.folder}/client/select.sql", "w", encoding="ascii") as script:
            script.write("\\set aid random(1, 1000000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n")

    def environment(self):
        return {"LD_LIBRARY_PATH": f"{self.root}/installed/lib"}

    def command(self):
        # What would make transactions or lines of the log by itself is off.
        off = ["autovacuum=off", "log_checkpoints=off", "max_logical_replication_workers=0", "fsync=off", "unix_socket_directories="]
        return [f"{self.root}/installed/bin/postgres", "-D", f"{self.root}/data", "-p", str(self.port),
                *[word for setting in off for word in ("-c", setting)]]

    def tool(self, name, *arguments):
        return self.inside(["env", f"LD_LIBRARY_PATH={self.folder}/installed/lib", f"{self.folder}/installed/bin/{name}", "-h", "127.0.0.1", "-p",
                            str(self.port),
                            "-U", "nobody", *arguments])

    def begin(self):
        # with checkpointer and both writers
        until("the server answers", lambda: "ready to accept connections" in self.log() and len(self.tree()) == 4)
        super().begin()
        run(self.tool("pgbench", "-i", "-q", "-s", "10", "postgres"))

    def load(self, seconds, stirred):
        for old in glob.glob(f"{self.folder}/client/log.*"):
            os.unlink(old)
        return subprocess.Popen(self.tool("pgbench", "-n", "-f", "select.sql", "-c", "8", "-T", str(seconds), *(["-C"] if stirred else []), "-l",
                                          "--log-prefix=log",
                                          "postgres"), cwd=f"{self.folder}/client", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def said(self, out, errors):
        if "tps = " not in out:
            raise Broken(f"pgbench has made no transaction: {errors} {out}")
        micros = sorted(int(line.split()[2]) for log in glob.glob(f"{self.folder}/client/log.*") for line in open(log, encoding="ascii"))
        if errors.replace("pgbench (15", "", 1).count("error") or int(re.search(r"failed transactions: (\d+)", out)[1]):
            raise Broken(f"pgbench: {errors[-300:]} {out}")
        return {"requests": int(re.search(r"actually processed: (\d+)", out)[1]), "rate": float(re.search(r"tps = ([\d.]+)", out)[1]),
                "p99": micros[len(micros) * 99 // 100] / 1000}

    def counted(self):
        # By a connection to another database, whose transactions are not among those.
        return {"@commits": int(run(self.tool("psql", "-At", "-d", "template1", "-c",
                                              "select xact_commit from pg_stat_database where datname = 'postgres'")))}

    def own(self, before, after, load):
        return {"@queries": load["requests"], "@commits": after["@commits"] - before["@commits"]}


class Nginx(Service):
    name, title = "nginx", "nginx 1.22, two workers, `wrk`, a file of 1 KiB, 32 connections"
    probes = {"@requests": "uprobe:*/nginx:ngx_http_process_request"}
    statistic = "lines of its access log"

    def prepare(self):
        self.file = f"{self.folder}/nginx"
        shutil.copy(f"{top}/build/real-servers/nginx/objs/nginx", self.file)
        os.mkdir(f"{self.folder}/html")
        with open(f"{self.folder}/html/index.html", "w", encoding="ascii") as page:
            page.write(1024 * "x")
        with open(f"{self.folder}/nginx.conf", "w", encoding="ascii") as conf:
            conf.write(f"""
daemon off; worker_processes 2; pid data/pid; error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    log_format short $status; access_log data/access.log short; root html; sendfile on; keepalive_requests 1000000000;
    client_body_temp_path data/b; proxy_temp_path data/p; fastcgi_temp_path data/f; uwsgi_temp_path data/u; scgi_temp_path data/s;
    server {{ listen 127.0.0.1:{self.port}; }}
}}
""")

    def command(self):
        return [f"{self.root}/nginx", "-e", "stderr", "-p", f"{self.root}/", "-c", "nginx.conf"]

    def begin(self):
        until("its workers serve", lambda: len(self.tree()) == 3)
        self.access_log = open(f"{self.folder}/data/access.log", "rb")
        self.lines = 0
        super().begin()

    def load(self, seconds, stirred):
        return subprocess.Popen(self.inside(["wrk", "-t", "1", "-c", "32", "-d", str(seconds), "--latency",
                                             f"http://127.0.0.1:{self.port}/index.html"]),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def said(self, out, errors):
        value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
        if "Non-2xx" in out or (not self.stirred and "Socket errors" in out):  # a worker that ends closes connections that wait for the next request
            raise Broken(f"wrk: {out} {errors}")
        return {"requests": int(re.search(r"(\d+) requests in", out)[1]), "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]),
                "p99": float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]}

    stirred = False

    def stir(self):
        self.stirred = True
        os.kill(self.master, signal.SIGHUP)

    def reload(self):
        before = set(self.tree()[1:])
        os.kill(self.master, signal.SIGHUP)
        until("new workers serve, and the old ones have gone", lambda: len(self.tree()) == 3 and not before & set(self.tree()))

    def counted(self):
        new = self.access_log.read()
        self.lines += new.count(b"\n")
        if new.replace(b"200\n", b""):
            raise Broken(f"nginx answered with {set(new.split()) - {b'200'}}")
        return {"@requests": self.lines}

    def own(self, before, after, load):
        if not load["requests"] <= after["@requests"] - before["@requests"] <= load["requests"] + 32:  # wrk leaves what it waits for at its end
            raise Broken(f"nginx has logged {after['@requests'] - before['@requests']} requests, wrk has made {load['requests']}")
        return {"@requests": after["@requests"] - before["@requests"]}


class Redis(Service):
    name, title = "redis", "Redis 7.0, `redis-benchmark`, GET of 100,000 keys, 50 clients; a save in each load"
    probes = {"@gets": "uprobe:*/redis-server:getCommand"}
    statistic = "`INFO commandstats`"
    ERRORS = r" # |rror|ail"
    RANDOM = ["-r", "100000"]
    speed = None

    def prepare(self):
        self.file = f"{self.folder}/redis-server"
        for program in ("redis-server", "redis-cli", "redis-benchmark"):
            shutil.copy(f"{top}/build/real-servers/redis/src/{program}", self.folder)

    def command(self):
        return [f"{self.root}/redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", f"{self.root}/data"]

    def tool(self, name, *arguments):
        return self.inside([f"{self.folder}/{name}", "-h", "127.0.0.1", "-p", str(self.port), *arguments])

    def begin(self):
        until("the server answers", lambda: "Ready to accept connections" in self.log())
        run(self.tool("redis-benchmark", "-t", "set", "-n", "500000", "-P", "16", *self.RANDOM, "-q"))
        super().begin()

    def load(self, seconds, stirred):
        requests = int((self.speed or 50000) * seconds)
        load = subprocess.Popen(self.tool("redis-benchmark", "-t", "get", "-n", str(requests), "-c", "50", *self.RANDOM, "--csv"),
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        load.requests = requests
        if not stirred:
            self.stir()
        return load

    def stir(self):
        run(self.tool("redis-cli", "bgsave", "schedule"))

    def said(self, out, errors):
        row = next(csv.DictReader(out.splitlines()))
        self.speed = self.speed or float(row["rps"])
        if errors.strip():
            raise Broken(f"redis-benchmark: {errors}")
        return {"rate": float(row["rps"]), "p99": float(row["p99_latency_ms"])}

    def counted(self):
        found = re.search(r"^cmdstat_get:calls=(\d+),.*failed_calls=0", run(self.tool("redis-cli", "info", "commandstats")), re.M)
        return {"@gets": int(found[1]) if found else 0}

    def own(self, before, after, load):
        if after["@gets"] - before["@gets"] != load["requests"]:
            raise Broken(f"redis says {after['@gets'] - before['@gets']} gets, redis-benchmark made {load['requests']}")
        return {"@gets": load["requests"]}


class Tracer:
    """Counts the service's probes, by the master's pid or by its file; all sites are armed when this returns."""

    def __init__(self, service, by_file):
        text = "".join(f"{probe} {{ {name} = count(); }} " for name, probe in service.probes.items())
        who = ["--exe", service.file] if by_file else ["-p", str(service.master), "--follow"]
        self.process = subprocess.Popen([f"{BIN}/fastsdt-trace", "--engine", "user", "--json", *who, "-e",
                                         text + 'interval:ms:200 { printf("armed\\n"); }'],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if '"printf"' not in self.process.stdout.readline():
            out, errors = self.process.communicate()
            raise Broken(f"the tracer has ended with {self.process.returncode}: {errors} {out}")

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self, statuses):
        self.process.send_signal(signal.SIGINT)
        out, errors = self.process.communicate(timeout=60)
        maps, sites = {}, {}
        for line in map(json.loads, out.splitlines()):
            if line["type"] == "map":
                maps |= line["data"]
            elif line["type"] == "sites":
                sites = line["data"]
        if self.process.returncode not in statuses or not sites or sites["armed"] != sites["sites"] or sites["dropped"] or sites["unread"] or sites["refused"]:
            raise Broken(f"the tracer ends with {self.process.returncode}, {sites}: {errors}")
        return maps


def ended(service, load):
    """What the client of a load says at its end."""
    out, errors = load.communicate()
    service.quiet()
    if load.returncode:
        raise Broken(f"the client ends with {load.returncode}: {errors} {out}")
    return {"requests": getattr(load, "requests", 0), **service.said(out, errors)}


def one_load(service, seconds, traced=False, by_file=False):
    service.quiet()
    before, ticks = service.counted(), service.ticks()
    service.quiet()  # who asked for the statistics has gone
    tracer = Tracer(service, by_file) if traced else None
    try:
        said = ended(service, service.load(seconds, False))
    finally:
        maps = tracer.end((0,)) if tracer else {}
    said["ticks"] = service.ticks() - ticks
    own = service.own(before, service.counted(), said)
    if tracer and maps != own:
        raise Broken(f"the tracer ({'--exe' if by_file else '-p --follow'}) counts {maps}, the server {own}")
    return {**said, "hits": own}


def over_a_reload(service, seconds):
    """One tracer, by the file; a load of the old workers and one of the new."""
    service.quiet()
    before, tracer, own = service.counted(), Tracer(service, True), {}
    try:
        for change in (lambda: None, service.reload):
            change()
            said = ended(service, service.load(seconds, False))
            now = service.counted()
            own = {name: own.get(name, 0) + count for name, count in service.own(before, now, said).items()}
            before = now
    finally:
        maps = tracer.end((0,))
    if maps != own:
        raise Broken(f"the tracer (--exe) counts {maps} over a reload, the server {own}")


def tracers_come_and_go(service, seconds):
    """How many, under one load."""
    service.quiet()
    before = service.counted()
    load, tracers, hits, counted = service.load(seconds, True), 0, 0, next(iter(service.probes))
    while load.poll() is None:
        tracer = Tracer(service, tracers % 2)
        service.stir()
        if tracers % 3 == 2:
            tracer.kill()
        else:
            hits += tracer.end((0, 1)).get(counted, 0)  # 1: a process that was forked just while its parent was armed was found late
        tracers += 1
    out, errors = load.communicate()
    if load.returncode:
        raise Broken(f"the client ends with {load.returncode} while tracers come and go: {errors} {out}")
    said = {"requests": getattr(load, "requests", 0), **service.said(out, errors)}
    service.quiet()
    Tracer(service, True).end((0,))  # clears away what a killed one left
    own = service.own(before, service.counted(), said)[counted]
    if not 0 < hits <= own:
        raise Broken(f"{tracers} tracers that came and went counted {hits} hits, the server {own}")
    return tracers


def semaphores(service):
    """Those that are not 0."""
    return [f"process {pid}: {site['name']} {site['semaphore']['value']}" for pid in service.tree()
            for file in json.loads(run([f"{BIN}/fastsdt-check", "--json", "--pid", str(pid)]))["process"]["files"] for site in file["sites"]
            if site["semaphore"] and site["semaphore"]["value"] != 0]


def states(service):
    kept = ("mappings", "vdso", "files with other text")
    return {pid: {name: value for name, value in Traced(pid).state().items() if name in kept} for pid in service.tree()}


def measure(kind, contained, seconds):
    """A row of the table."""
    length = max(1, seconds // PAIRS)
    where = "container" if contained else "service"
    with tempfile.TemporaryDirectory(prefix="fastsdt-services.") as folder:
        service = kind(folder, contained)
        try:
            service.begin()
            one_load(service, length)  # warms up
            one_load(service, 1, traced=True)
            service.quiet()
            before, zombies = states(service), service.zombies()
            pairs = []
            for pair in range(PAIRS):
                order = (False, True) if pair % 2 else (True, False)  # what drifts is in both
                loads = {traced: one_load(service, length, traced, pair // 2 % 2) for traced in order}
                pairs.append(loads)
                print(f"  {kind.name}, {where}: {loads[False]['rate']:.0f} untraced, {loads[True]['rate']:.0f} traced; 99th percentile "
                      f"{loads[False]['p99']:.3f}, {loads[True]['p99']:.3f} ms; {loads[True]['hits']}", file=sys.stderr, flush=True)
            if service.reload:
                over_a_reload(service, length)
            tracers = tracers_come_and_go(service, STIRRED_SECONDS)
            service.quiet()
            after = states(service)
            if len(after) != len(before):
                raise Broken(f"{len(before)} processes are {len(after)}")
            for pid, state in after.items():
                if differs := difference(before[pid], state) if pid in before else ", ".join(state["files with other text"]):
                    raise Broken(f"process {pid} is not as before: {differs}")
            if up := semaphores(service):
                raise Broken(f"semaphores are up: {up}")
            if service.zombies() != zombies:
                raise Broken(f"{zombies} zombies are {service.zombies()}")
            if errors := service.errors():
                raise Broken(f"its log has: {errors[:5]}")
        finally:
            service.stop()
    rates = [pair[True]["rate"] / pair[False]["rate"] for pair in pairs]
    processor = [pair[True]["ticks"] / pair[True]["requests"] / (pair[False]["ticks"] / pair[False]["requests"]) for pair in pairs]
    p99 = {traced: [pair[traced]["p99"] for pair in pairs] for traced in (False, True)}
    row = {"service": kind.name, "where": where, "ratio": statistics.median(rates), "ratios": sorted(rates),
           "processor": statistics.median(processor), "p99": p99,
           "rate": statistics.median(pair[False]["rate"] for pair in pairs), "hits": {name: sum(pair[True]["hits"][name] for pair in pairs)
               for name in kind.probes},
           "tracers": tracers, "broken": []}
    if row["ratio"] < THROUGHPUT:
        row["broken"].append(f"the throughput is {row['ratio']:.3f} of the untraced, less than {THROUGHPUT}")
    if (middle := statistics.median(p99[True])) > max(*p99[False], 1.1 * statistics.median(p99[False])):
        row["broken"].append(f"the 99th percentile is {middle:.3f} ms, and {min(p99[False]):.3f} to {max(p99[False]):.3f} untraced")
    return row


def table(rows, kinds, seconds):
    on, commit = machine(), run(["git", "-C", top, "describe", "--always"]).strip()
    lines = ["## Services under load", "",
             f"Written by `tests/long/services.sh`, {datetime.date.today().isoformat()}, commit {commit}, {on['processor']}, {on['processors']} processors, "
             f"hypervisor {on['hypervisor']}, Linux {on['kernel']}.",
             "",
             f"Each server runs as another user, once as a service does, and once as in a container: in namespaces of its own, at another path, under a filter like Docker's. "
             f"Root traces it from outside, in turn by `-p MASTER --follow` and `--exe FILE`, with `--engine user`. A row has {PAIRS} pairs of the same load, untraced and traced, "
             f"of {max(1, seconds // PAIRS)} s each, clients on the same processors. Every traced load has exactly as many hits as the server's own statistics have requests, and no hit was dropped. "
             "nginx is traced over a reload too, by the same tracer before and after it. Then, under one more load, tracers come and go as fast as they can, every third of them killed by SIGKILL, while PostgreSQL has a new process for each transaction "
             "(`pgbench -C`), nginx reloads (SIGHUP) and Redis saves (BGSAVE) with each of them. After all that the code of all processes is that of the files, mappings are the same, all "
             "semaphores are 0, there is no new zombie, and neither a client nor the server's log has an error. Where one of these does not hold the script fails.",
             "",
             f"The throughput is the median of the pairs' ratios, in brackets the least and the greatest; the median has to be at least {THROUGHPUT}, and what is above 1 is noise. The processor's time is the server's, for each "
             "request, traced over untraced: other load on the machine affects it less. The 99th percentiles are medians, in brackets the range of the untraced loads; traced it may not be above both that range and 1.1 of the untraced median.",
             ""]
    lines += [f"- {kind.title}. {' and '.join(f'`{probe}`' for probe in kind.probes.values())}; the server's count: {kind.statistic}"
              for kind in kinds]
    lines += ["", "| server | where | requests a second, untraced | throughput, traced / untraced | processor's time | p99 untraced, ms | p99 traced, ms | hits, as the server counts | tracers that came and went |",
              "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        untraced = row["p99"][False]
        lines.append(f"| {row['service']} | {row['where']} | {row['rate']:,.0f} | {row['ratio']:.3f} ({row['ratios'][0]:.3f} to {row['ratios'][-1]:.3f}) | {row['processor']:.3f} | "
                     f"{statistics.median(untraced):.3f} ({min(untraced):.3f} to {max(untraced):.3f}) | {statistics.median(row['p99'][True]):.3f} | "
                     f"{', '.join(f'{name[1:]} {count:,}' for name, count in row['hits'].items())} | {row['tracers']} |")
    return "\n".join(lines) + "\n"


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts us in the background has us and all below ignore it
    seconds, file, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    kinds = [kind for kind in (Postgresql, Nginx, Redis) if kind.name in names]
    rows, broken = [], []
    for kind in kinds:
        for contained in (False, True):
            try:
                rows.append(measure(kind, contained, seconds))
                broken += [f"{kind.name}, {rows[-1]['where']}: {what}" for what in rows[-1]["broken"]]
            except Broken as what:
                broken.append(f"{kind.name}, {'container' if contained else 'service'}: {what}")
    with open(file, "w", encoding="ascii") as out:
        out.write(table(rows, kinds, seconds))
    with open(file, encoding="ascii") as done:
        print("".join(line for line in done if line.startswith("|")), end="")
    for what in broken:
        print(f"services.sh: {what}", file=sys.stderr)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
