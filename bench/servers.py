#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""servers.py [redis | haproxy | mariadb]...: what it costs a server to have all of its functions counted.

Debian's own binaries, as they are installed, under a load of small requests. Rounds without and with
`uprobe:FILE:* { @ = count(); }` take turns on the same process; the table has the least processor time
a request of each, of all the server's threads. A server that is not installed is left out, and said."""
import contextlib, glob, os, pathlib, re, shutil, signal, socket, subprocess, sys, tempfile, time

TOP = pathlib.Path(__file__).resolve().parent.parent
TRACE = TOP / "build/default/bin/fastsdt-trace"
ROUNDS = 5


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def started(command, answers):
    """The server, when answers() does not fail any more."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=open("log", "ab"), stderr=subprocess.STDOUT)
    running.append(server)
    while True:
        with contextlib.suppress(subprocess.CalledProcessError, OSError):
            answers()
            return server
        if server.poll() is not None:
            sys.exit(f"servers.py: {command[0]} ended: {pathlib.Path('log').read_text()[-500:]}")
        time.sleep(0.05)


def redis():
    """Its sites, and a load that says how many requests it made."""
    server = started(["redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", ""],
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
    started(["haproxy", "-f", "origin.cfg", "-db"], answers(ports[1]))
    server = started(["haproxy", "-f", "proxy.cfg", "-db"], answers(ports[0]))

    def load():
        said = run("wrk", "-t", "1", "-c", "8", "-d", "5", f"http://127.0.0.1:{ports[0]}/")
        if "Non-2xx" in said or "Socket errors" in said:
            sys.exit(f"servers.py: wrk: {said}")
        return int(re.search(r"(\d+) requests in", said).group(1))
    return server, load


def mariadb():
    """Selects by primary key."""
    here, user = os.getcwd(), "nobody" if os.geteuid() == 0 else os.environ["USER"]
    shutil.chown(here, user)
    run("mariadb-install-db", "--no-defaults", f"--datadir={here}/data", f"--user={user}", "--auth-root-authentication-method=normal")
    client = ["--no-defaults", f"--socket={here}/sock", "-uroot"]
    server = started(["mariadbd", "--no-defaults", f"--datadir={here}/data", f"--socket={here}/sock", f"--user={user}", "--skip-networking",
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
    script = f"uprobe:{file}:* {{ @ = count(); }} interval:s:1 {{ printf(\"runs\\n\"); }}"
    least, hits, sites = {}, 0, ""

    def one(kind):
        before = cpu_ns(server.pid)
        requests = load()
        ns = (cpu_ns(server.pid) - before) / requests
        least[kind] = min(least.get(kind, ns), ns)
        return requests
    load()
    for _ in range(ROUNDS):
        one("untraced")
        tracer = subprocess.Popen([TRACE, "--engine", "user", "-p", str(server.pid), "-e", script], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        while "runs" not in (line := tracer.stdout.readline()):
            if not line:
                sys.exit(f"servers.py: {tracer.communicate()[1]}")
        requests = one("counted")
        tracer.send_signal(signal.SIGINT)
        said = tracer.communicate()[0]
        hits = int(re.search(r"^@: (\d+)$", said, re.M).group(1)) / requests
        sites = re.search(r"^sites (\d+) of \d+ armed.*; dropped 0", said, re.M).group(1)
        if server.poll() is not None:
            sys.exit(f"servers.py: {name} ended")
    untraced, counted = least["untraced"], least["counted"]
    print(f"| {name} | {sites} | {hits:.0f} | {untraced / 1000:.2f} us | {counted / 1000:.2f} us | {counted / untraced:.2f} | "
          f"{(counted - untraced) / hits:.1f} |", flush=True)


running = []
KNOWN = {"redis": (redis, "redis-server"), "haproxy": (haproxy, "haproxy"), "mariadb": (mariadb, "mariadbd")}
os.environ["PATH"] += ":/usr/sbin"
names = sys.argv[1:] or list(KNOWN)
if set(names) - set(KNOWN):
    sys.exit(__doc__)
print("| all functions of | armed | hits a request | CPU a request | counted | times | ns a hit |\n|---|---|---|---|---|---|---|", flush=True)
for name in names:
    make, program = KNOWN[name]
    if not shutil.which(program):
        print(f"servers.py: {program} is not installed", file=sys.stderr)
        continue
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            measured(name, make)
        finally:
            for server in running:
                server.kill()
                server.wait()
            running.clear()
            os.chdir("/")
