#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""servers.py [redis | haproxy | mariadb]...: what it costs a server to have all of its functions counted.

Debian's own binaries, as they are installed, under a load of small requests. Rounds without and with
`uprobe:FILE:* { @ = count(); }` take turns on the same process; the table has the medians: of the processor
time a request, of all the server's threads, and of what a round with is to the one before it. A server that is
not installed is left out, and said."""
import contextlib
import getpass
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from run import Unavailable
from tracers import ARMED, started, stopped

TRACE = pathlib.Path(__file__).resolve().parent.parent / "build/default/bin/fastsdt-trace"
ROUNDS = 9


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def serving(command, answers):
    """The server, when answers() does not fail any more."""
    with open("log", "ab") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    running.append(server)
    while True:
        with contextlib.suppress(subprocess.CalledProcessError, OSError):
            answers()
            return server
        if server.poll() is not None:
            raise Unavailable(f"{command[0]} ended: {pathlib.Path('log').read_text()[-500:]}")
        time.sleep(0.05)


def redis():
    """The server, and a load that says how many requests it made."""
    server = serving(["redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", ""],
                     lambda: run("redis-cli", "-s", "redis.sock", "ping"))

    def load():
        run("redis-benchmark", "-s", "redis.sock", "-t", "set,get", "-n", "200000", "-c", "8", "-r", "10000", "-q")
        return 400000
    return server, load


def haproxy():
    """A proxy between wrk and another haproxy, which answers by itself."""
    ports = free_port(), free_port()
    proxy = "defaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n"
    pathlib.Path("origin.cfg").write_text(f"{proxy}frontend f\n bind 127.0.0.1:{ports[1]}\n http-request return status 200 content-type text/plain string ok\n")
    pathlib.Path("proxy.cfg").write_text(f"global\n nbthread 1\n{proxy}frontend f\n bind 127.0.0.1:{ports[0]}\n default_backend b\n"
                                         f"backend b\n server s 127.0.0.1:{ports[1]}\n")

    def answers(port):
        return lambda: socket.create_connection(("127.0.0.1", port)).close()
    serving(["haproxy", "-f", "origin.cfg", "-db"], answers(ports[1]))
    server = serving(["haproxy", "-f", "proxy.cfg", "-db"], answers(ports[0]))

    def load():
        said = run("wrk", "-t", "1", "-c", "8", "-d", "5", f"http://127.0.0.1:{ports[0]}/")
        if "Non-2xx" in said or "Socket errors" in said:
            raise Unavailable(f"wrk: {said}")
        return int(re.search(r"(\d+) requests in", said).group(1))
    return server, load


def mariadb():
    """Selects by primary key."""
    here, user = os.getcwd(), "nobody" if os.geteuid() == 0 else getpass.getuser()
    shutil.chown(here, user)
    run("mariadb-install-db", "--no-defaults", f"--datadir={here}/data", f"--user={user}", "--auth-root-authentication-method=normal")
    client = ["--no-defaults", f"--socket={here}/sock", "-uroot"]
    server = serving(["mariadbd", "--no-defaults", f"--datadir={here}/data", f"--socket={here}/sock", f"--user={user}", "--skip-networking",
                      f"--pid-file={here}/pid"], lambda: run("mariadb", *client, "-e", "select 1"))
    run("mariadb", *client, "-e", "create database shop; create table shop.t (id int primary key, v varchar(80)); insert shop.t "
        "with recursive s(n) as (select 1 union all select n + 1 from s where n < 900) select n, concat('value ', n) from s")

    def load():
        run("mariadb-slap", *client, "--create-schema=shop", "--query=select v from t where id = 471", "--number-of-queries=40000",
            "--concurrency=4", "--no-drop")
        return 40000
    return server, load


def cpu_ns(pid):
    """Of all threads that it has and had: the clock that clock_getcpuclockid(3) gives."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def measured(name, make):
    server, load = make()
    file = os.path.realpath(f"/proc/{server.pid}/exe")
    script = f"uprobe:{file}:* {{ @ = count(); }} {ARMED}"
    rounds = []  # ns a request without, with, and hits a request

    def one():
        """Requests, and ns of a processor for each."""
        before = cpu_ns(server.pid)
        requests = load()
        return requests, (cpu_ns(server.pid) - before) / requests
    load()
    for _ in range(ROUNDS):
        _, untraced = one()
        tracer = started([TRACE, "--engine", "user", "-p", str(server.pid), "-e", script], "armed")
        requests, counted = one()
        said = stopped(tracer)
        hits = int(re.search(r"^@: (\d+)$", said, re.M).group(1)) / requests
        sites = re.search(r"^sites (\d+) of \d+ armed.*; dropped 0", said, re.M).group(1)
        rounds.append((untraced, counted, hits))
        if server.poll() is not None:
            raise Unavailable(f"{name} ended")
    untraced, counted, hits = map(statistics.median, zip(*rounds))
    times = statistics.median(round[1] / round[0] for round in rounds)
    of_hit = statistics.median((round[1] - round[0]) / round[2] for round in rounds)
    print(f"| {name} | {sites} | {hits:.0f} | {untraced / 1000:.2f} us | {counted / 1000:.2f} us | {times:.2f} | {of_hit:.1f} |", flush=True)


running = []
KNOWN = {"redis": (redis, "redis-server"), "haproxy": (haproxy, "haproxy", "wrk"), "mariadb": (mariadb, "mariadbd")}
os.environ["PATH"] += ":/usr/sbin"
names = sys.argv[1:] or list(KNOWN)
if set(names) - set(KNOWN):
    sys.exit(__doc__)
print("| all functions of | armed | hits a request | CPU a request | counted | times | ns a hit |\n|---|---|---|---|---|---|---|", flush=True)
for name in names:
    make, *programs = KNOWN[name]
    if lacking := [program for program in programs if not shutil.which(program)]:
        print(f"servers.py: {name}: {lacking[0]} is not installed", file=sys.stderr)
        continue
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            measured(name, make)
        except Unavailable as why:
            sys.exit(f"servers.py: {why}")
        finally:
            for server in running:
                server.kill()
                server.wait()
            running.clear()
            os.chdir("/")
