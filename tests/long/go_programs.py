# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Go programs, as move-go-programs.py and go-throughput.py start them from packages unpacked in the current folder, and loads that check answers."""
import base64
import contextlib
import glob
import gzip
import hashlib
import http.client
import io
import json
import multiprocessing
import os
import random
import signal
import socket
import ssl
import subprocess
import tarfile
import threading
import time
import urllib.parse

WORK = os.getcwd()
CLIENTS = 3 # of each program
LESS = 5 # niceness: of programs and clients, which are busy with what tracers leave of the processors; else these come too seldom
LONG_ENOUGH = 300 # seconds for what takes some, on a busy machine


class Broken(Exception):
    """A promise was broken; the text says which."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, true):
    """Polls."""
    end = time.monotonic() + LONG_ENOUGH
    while not true():
        if time.monotonic() > end:
            raise Broken(f"{LONG_ENOUGH} s were not enough: {what}")
        time.sleep(0.02)


class Client:
    """A connection that stays. Each client has its own."""

    def __init__(self, port, tls=False):
        if tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.connection = http.client.HTTPSConnection("localhost", port, timeout=LONG_ENOUGH, context=context)
        else:
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_ENOUGH)

    def ask(self, path, body=None, wanted=200, method=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method or ("GET" if body is None else "POST"), path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != wanted:
            raise Broken(f"{path}: status {answer.status}: {text[:200]}")
        return text


class AtSocket(http.client.HTTPConnection):
    """A connection to a socket that has a path."""

    def __init__(self, path):
        super().__init__("localhost", timeout=LONG_ENOUGH)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Docker(Client):
    """A client of dockerd."""

    def __init__(self): # pylint: disable=super-init-not-called # it has another connection
        self.connection = AtSocket(f"{WORK}/docker")

    def call(self, method, path, values=None, wanted=200, **query):
        """@param values  what is sent as JSON. @return the answer's, or None where it has none"""
        text = self.ask(f"{path}?{urllib.parse.urlencode(query)}", None if values is None else json.dumps(values), wanted, method,
                        Content_Type="application/json")
        return json.loads(text) if text else None

    def import_image(self, name, files):
        repository, tag = name.split(":")
        packed = tar(files)
        self.ask("/images/create?" + urllib.parse.urlencode({"fromSrc": "-", "repo": repository, "tag": tag}), packed,
                 Content_Type="application/x-tar")

    def create(self, name, image, *command):
        """@return the container's id"""
        return self.call("POST", "/containers/create", {
            "Image": image, "Cmd": list(command), "NetworkDisabled": True, "Env": ["OWN=" + name], "HostConfig": {"NetworkMode": "none"}}, 201,
            name=name)["Id"]

    def remove(self, name):
        self.call("DELETE", f"/containers/{name}", wanted=204, force=1)


def tar(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o755
            archive.addfile(member, io.BytesIO(text))
    return packed.getvalue()


def frames(text):
    """What a container wrote, as the stream's number and its bytes, of an answer that has both."""
    streams = {}
    while text:
        size = int.from_bytes(text[4:8], "big")
        streams[text[0]] = streams.get(text[0], b"") + text[8:8 + size]
        text = text[8 + size:]
    return streams


def same(what, got, wanted):
    if got != wanted:
        raise Broken(f"{what}: {str(got)[:200]} instead of {str(wanted)[:200]}")


# ---- The programs: `command` starts one, `client(number)` makes a function of a number which asks, checks, and raises what is wrong.

class Program:
    def ended(self):
        """Takes away what it may have left outside of this folder."""


class OnePort(Program):
    def __init__(self):
        self.port = free_port()


class Prometheus(OnePort):
    name, file, unit = "prometheus", "usr/bin/prometheus", "queries"

    def command(self, program):
        with open("prometheus.yml", "w", encoding="ascii") as file:
            file.write("global: {scrape_interval: 200ms}\nscrape_configs: [{job_name: itself, static_configs: "
                       f'[{{targets: ["127.0.0.1:{self.port}"]}}]}}]\n')
        return [program, f"--config.file={WORK}/prometheus.yml", f"--storage.tsdb.path={WORK}/prometheus.data",
                f"--web.listen-address=127.0.0.1:{self.port}"]

    def client(self, number):
        client = Client(self.port)

        def value(query):
            result = json.loads(client.ask("/api/v1/query?query=" + urllib.parse.quote(query)))["data"]
            return float(result["result"][1]) if result["resultType"] == "scalar" else float(result["result"][0]["value"][1])

        def ask(i):
            kind = (i + number) % 4
            if kind == 0:
                same("a sum", value(f"{i} * 7 + 1"), i * 7 + 1)
            elif kind == 1:
                same("a vector", value(f"sum(vector({i})) / 2"), i / 2)
            elif kind == 2:
                same("targets", value('count(up{job="itself"})'), 1)
            elif b"go_goroutines" not in client.ask("/metrics"):
                raise Broken("its metrics")
        return ask


class Etcd(OnePort):
    name, file, unit = "etcd", "usr/bin/etcd", "calls"

    def command(self, program):
        at = f"http://127.0.0.1:{self.port}"
        return [program, "--data-dir", f"{WORK}/etcd.data", "--listen-client-urls", at, "--advertise-client-urls", at,
                "--listen-peer-urls", f"http://127.0.0.1:{free_port()}", "--unsafe-no-fsync",
                "--auto-compaction-retention=1000", "--auto-compaction-mode=revision", "--logger=zap", "--log-level=error"]

    def client(self, number):
        client, watcher = Client(self.port), Client(self.port)
        watched = []

        def text(data):
            return base64.b64encode(data.encode()).decode()

        def call(method, **values):
            return json.loads(client.ask("/v3/" + method, json.dumps(values)))

        def watch():
            watcher.connection.request("POST", "/v3/watch", json.dumps({"create_request": {"key": text(f"watched{number}")}}))
            answers = watcher.connection.getresponse()
            same("watch", json.loads(answers.readline())["result"]["created"], True)
            return answers

        def ask(i):
            kind, key = i % 4, text(f"key{number}/{i % 1000}")
            if kind == 0:
                call("kv/put", key=key, value=text(f"value {i}" * 20))
                same("get", call("kv/range", key=key)["kvs"][0]["value"], text(f"value {i}" * 20))
            elif kind == 1:
                call("kv/put", key=key, value=text("old"))
                done = call("kv/txn", compare=[{"key": key, "target": "VALUE", "result": "EQUAL", "value": text("old")}],
                            success=[{"requestPut": {"key": key, "value": text(f"new {i}")}}], failure=[])
                same("a transaction", done.get("succeeded"), True)
                same("what a transaction put", call("kv/range", key=key)["kvs"][0]["value"], text(f"new {i}"))
            elif kind == 2:
                if not watched:
                    watched.append(watch())
                call("kv/put", key=text(f"watched{number}"), value=text(f"event {i}"))
                events = json.loads(watched[0].readline())["result"]["events"]
                same("an event", [event["kv"]["value"] for event in events], [text(f"event {i}")])
            else:
                lease = call("lease/grant", TTL=600)["ID"]
                call("kv/put", key=key, value=text("leased"), lease=lease)
                call("lease/revoke", ID=lease)
                same("what a lease had", call("kv/range", key=key).get("kvs"), None)
        return ask


class Caddy(Program):
    name, file, unit = "caddy", "usr/bin/caddy", "requests"

    def __init__(self):
        self.ports = [free_port() for _ in range(3)]

    def command(self, program):
        os.makedirs("files", exist_ok=True)
        r = random.Random(1)
        self.files = {f"{size}.txt": ("%d\n" % r.randrange(10 ** 9) * size)[:size].encode() for size in (0, 100, 10000, 1000000)}
        for name, text in self.files.items():
            with open(f"files/{name}", "wb") as file:
                file.write(text)
        files, proxy, tls = self.ports
        with open("Caddyfile", "w", encoding="ascii") as file:
            file.write(f"{{\n admin off\n skip_install_trust\n auto_https disable_redirects\n storage file_system {WORK}/caddy.data\n}}\n"
                       f"http://:{files} {{\n bind 127.0.0.1\n root * {WORK}/files\n encode gzip\n file_server browse\n}}\n"
                       f"http://127.0.0.1:{proxy} {{\n reverse_proxy 127.0.0.1:{files}\n}}\n"
                       f"https://localhost:{tls} {{\n tls internal\n reverse_proxy 127.0.0.1:{files}\n}}\n")
        return [program, "run", "--config", f"{WORK}/Caddyfile", "--adapter", "caddyfile"]

    def client(self, number):
        clients = [Client(port, port == self.ports[2]) for port in self.ports]
        names = sorted(self.files)

        def ask(i):
            if i % 50 == 49: # another handshake
                clients[2] = Client(self.ports[2], True)
            client, name = clients[(i + number) % 3], names[i // 3 % len(names)]
            wanted, kind = self.files[name], i // 16 % 4
            if kind == 0 and wanted:
                start = i % len(wanted)
                same("a part", client.ask(f"/{name}", wanted=206, Range=f"bytes={start}-{start + 9}"), wanted[start:start + 10])
            elif kind == 1:
                packed = client.ask(f"/{name}", Accept_Encoding="gzip")
                same("packed", gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed, wanted)
            elif kind == 2 and number == 0:
                client.ask("/missing", wanted=404)
                if b"1000000.txt" not in client.ask("/"):
                    raise Broken("a list of files")
            else:
                same("a file", client.ask(f"/{name}"), wanted)
        return ask


class Containerd(OnePort):
    name, file, unit = "containerd", "usr/bin/containerd", "calls"

    def command(self, program):
        without = ", ".join(f'"io.containerd.{name}"' for name in (
            "grpc.v1.cri", "internal.v1.opt", "snapshotter.v1.aufs", "snapshotter.v1.btrfs", "snapshotter.v1.devmapper",
            "snapshotter.v1.zfs", "snapshotter.v1.overlayfs"))
        with open("containerd.toml", "w", encoding="ascii") as file:
            file.write(f'version = 2\nroot = "{WORK}/containerd.data"\nstate = "{WORK}/containerd.state"\n'
                       f'disabled_plugins = [{without}]\n[grpc]\naddress = "{WORK}/socket"\n'
                       f'[ttrpc]\naddress = "{WORK}/socket.ttrpc"\n[metrics]\naddress = "127.0.0.1:{self.port}"\n'
                       # Contents and snapshots of which no image tells are no garbage here.
                       '[plugins."io.containerd.gc.v1.scheduler"]\nmutation_threshold = 1000000000\nstartup_delay = "10000h"\n')
        return [program, "--config", f"{WORK}/containerd.toml", "--log-level", "error"]

    def client(self, number):
        metrics = Client(self.port)
        own = os.urandom(16).hex().encode() # contents that all namespaces share are resumed, which ctr cannot

        def ctr(*words, data=None):
            done = subprocess.run([f"{WORK}/package/usr/bin/ctr", "-a", f"{WORK}/socket", *words], input=data,
                                  stdin=subprocess.DEVNULL if data is None else None, capture_output=True, check=False)
            if done.returncode:
                raise Broken(f"ctr {' '.join(words)}: {done.stderr.decode()[-300:]}")
            return done.stdout

        def lines(*words):
            return [line.split() for line in ctr(*words).decode().splitlines()[1:]]

        def ask(i):
            space = f"space{number}"
            kind = i % 8
            if kind == 0: # contents, by their digests
                data = own + b"%d " % i * (1 + i * 7919 % 20000)
                digest = "sha256:" + hashlib.sha256(data).hexdigest()
                ctr("-n", space, "content", "ingest", f"--expected-digest={digest}", f"reference{i}", data=data)
                same("contents", [line[0] for line in lines("-n", space, "content", "ls")], [digest])
                same("a content", ctr("-n", space, "content", "get", digest), data)
                ctr("-n", space, "content", "rm", digest)
                same("no contents", lines("-n", space, "content", "ls"), [])
            elif kind == 2:
                ctr("namespaces", "create", f"made{number}", f"label={i}")
                same("a namespace", [f"made{number}", f"label={i}"] in lines("namespaces", "ls"), True)
                ctr("namespaces", "rm", f"made{number}")
                same("no namespace", [line for line in lines("namespaces", "ls") if line[0] == f"made{number}"], [])
            elif kind == 4:
                ctr("-n", space, "leases", "create", "--id", f"lease{i}")
                same("leases", [line[0] for line in lines("-n", space, "leases", "ls")], [f"lease{i}"])
                ctr("-n", space, "leases", "rm", f"lease{i}")
            elif kind == 6:
                ctr("-n", space, "snapshots", "--snapshotter", "native", "prepare", f"upper{i}")
                ctr("-n", space, "snapshots", "--snapshotter", "native", "commit", f"lower{i}", f"upper{i}")
                same("snapshots", lines("-n", space, "snapshots", "--snapshotter", "native", "ls"), [[f"lower{i}", "Committed"]])
                ctr("-n", space, "snapshots", "--snapshotter", "native", "rm", f"lower{i}")
            else:
                for _ in range(20):
                    if b"grpc_server_handled_total" not in metrics.ask("/v1/metrics"):
                        raise Broken("its metrics")
        return ask


class Dockerd(Program):
    """Containers run, by the containerd and the runc of the same release."""
    name, file, unit = "dockerd", "usr/sbin/dockerd", "calls"
    group = f"/move-go-programs.{os.getpid()}" # the containers' control group

    def command(self, program):
        with open("says.c", "w", encoding="ascii") as file: # says.c TEXT STATUS; without them it waits
            file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int count, char** words)\n{\n"
                       "    while (count < 3)\n        pause();\n    fprintf(stderr, \"%s\\n\", getenv(\"OWN\"));\n    puts(words[1]);\n"
                       "    return atoi(words[2]);\n}\n")
        subprocess.run(["gcc", "-O1", "-static", "-o", "says", "says.c"], check=True)
        with open("dockerd.json", "w", encoding="ascii") as file: # not the machine's
            file.write("{}")
        return [program, "--host", f"unix://{WORK}/docker", "--data-root", f"{WORK}/dockerd.data", "--exec-root", f"{WORK}/dockerd.state",
                "--pidfile", f"{WORK}/dockerd.pid", "--config-file", f"{WORK}/dockerd.json", "--storage-driver", "vfs", "--cgroup-parent", self.group,
                "--group", "root", "--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--log-level", "error"]

    def ended(self):
        for process in os.listdir("/proc"): # what watches a container does not end with a dockerd that was killed
            with contextlib.suppress(OSError), open(f"/proc/{process}/cmdline", "rb") as words:
                if f"\0-address\0{WORK}/".encode() in words.read():
                    os.kill(int(process), signal.SIGKILL)
        for path, folders, _ in os.walk("/sys/fs/cgroup"):
            if self.group[1:] in folders:
                for container in [*glob.glob(f"{glob.escape(path)}{self.group}/*/"), path + self.group]:
                    with contextlib.suppress(OSError):
                        os.rmdir(container)

    def client(self, number):
        docker = Docker()
        with open("says", "rb") as file:
            says = file.read()
        own = f"own{number}.{os.urandom(8).hex()}" # what a client before this one left has other names
        docker.import_image(f"{own}:says", {"says": says})

        def listed():
            return [c["Id"] for c in docker.call("GET", "/containers/json", all=1) if f"/{own}" in c["Names"]]

        def runs(i):
            docker.create(own, f"{own}:says", "/says", f"text {i}", str(i % 200))
            docker.call("POST", f"/containers/{own}/start", wanted=204)
            same("a status", docker.call("POST", f"/containers/{own}/wait")["StatusCode"], i % 200)
            same("a log", frames(docker.ask(f"/containers/{own}/logs?stdout=1&stderr=1")), {1: b"text %d\n" % i, 2: own.encode() + b"\n"})
            same("a state", docker.call("GET", f"/containers/{own}/json")["State"]["ExitCode"], i % 200)
            docker.remove(own)

        def executes(i):
            docker.create(own, f"{own}:says", "/says")
            docker.call("POST", f"/containers/{own}/start", wanted=204)
            asked = docker.call("POST", f"/containers/{own}/exec", {
                "Cmd": ["/says", f"in it {i}", "7"], "AttachStdout": True, "AttachStderr": True, "Env": ["OWN=exec"]}, 201)["Id"]
            said = docker.ask(f"/exec/{asked}/start", json.dumps({"Detach": False}), Content_Type="application/json")
            same("what was executed", frames(said), {1: b"in it %d\n" % i, 2: b"exec\n"})
            until("its end is known", lambda: not docker.call("GET", f"/exec/{asked}/json")["Running"])
            same("its status", docker.call("GET", f"/exec/{asked}/json")["ExitCode"], 7)
            same("processes", [p[-1] for p in docker.call("GET", f"/containers/{own}/top", ps_args="-o pid,args")["Processes"]], ["/says"])
            docker.call("POST", f"/containers/{own}/kill", wanted=204)
            same("a killed one's status", docker.call("POST", f"/containers/{own}/wait")["StatusCode"], 128 + signal.SIGKILL)
            docker.remove(own)

        def images(i):
            files = {f"file{n}": b"%d " % (i + n) * (n * 7919 % 20000) for n in range(4)}
            docker.import_image(f"{own}:{i}", files)
            image = docker.call("GET", f"/images/{own}:{i}/json")
            same("an image's size", image["Size"], sum(map(len, files.values())))
            same("its names", image["RepoTags"], [f"{own}:{i}"])
            docker.create(own, f"{own}:{i}", "/none")
            with tarfile.open(fileobj=io.BytesIO(docker.ask(f"/containers/{own}/archive?path=/file3"))) as archive:
                same("an image's file", archive.extractfile("file3").read(), files["file3"])
            docker.remove(own)
            docker.call("DELETE", f"/images/{own}:{i}")
            docker.call("GET", f"/images/{own}:{i}/json", wanted=404)

        def containers(i):
            begin = time.time()
            made = docker.create(f"{own}.old", f"{own}:says", "/says", str(i))
            docker.call("POST", f"/containers/{own}.old/rename", wanted=204, name=own)
            container = docker.call("GET", f"/containers/{own}/json")
            same("a container", [container["Id"], container["Name"], container["Args"], container["State"]["Status"]],
                 [made, f"/{own}", [str(i)], "created"])
            same("a list of containers", listed(), [made])
            text = b"%d " % i * (1 + i * 7919 % 20000)
            docker.ask(f"/containers/{own}/archive?path=/", tar({"put": text}), method="PUT", Content_Type="application/x-tar")
            with tarfile.open(fileobj=io.BytesIO(docker.ask(f"/containers/{own}/archive?path=/put"))) as archive:
                same("what was put", archive.extractfile("put").read(), text)
            same("changes", docker.call("GET", f"/containers/{own}/changes"), [{"Path": "/put", "Kind": 1}])
            docker.remove(own)
            same("no container", listed(), [])
            lines = docker.ask("/events?" + urllib.parse.urlencode({
                "since": f"{begin:.9f}", "until": f"{time.time():.9f}", "filters": json.dumps({"container": [made]})}))
            same("events", [json.loads(line)["Action"] for line in lines.splitlines()],
                 ["create", "rename", "extract-to-dir", "archive-path", "destroy"])

        def others(i):
            version = docker.call("GET", "/version")
            same("a version", [version["ApiVersion"], version["Os"]], ["1.41", "linux"])
            same("networks", sorted(n["Name"] for n in docker.call("GET", "/networks")), ["host", "none"])
            docker.call("POST", "/volumes/create", {"Name": f"{own}.{i}", "Labels": {"i": str(i)}}, 201)
            mine = {"filters": json.dumps({"name": [own]})}
            same("volumes", [[v["Name"], v["Labels"]] for v in docker.call("GET", "/volumes", **mine)["Volumes"]], [[f"{own}.{i}", {"i": str(i)}]])
            docker.call("DELETE", f"/volumes/{own}.{i}", wanted=204)
            same("no volumes", docker.call("GET", "/volumes", **mine)["Volumes"] or [], [])

        return lambda i: (runs, images, containers, others, executes)[(i + number) % 5](i)


# ---- Running them, and loads

class Running:
    """A program that runs. @param less  its niceness"""

    def __init__(self, kind, less=LESS):
        self.program, self.name, self.file = kind(), kind.name, f"{WORK}/package/{kind.file}"
        folders = f"{WORK}/package/usr/bin:{WORK}/package/usr/sbin" # dockerd starts others
        with open(f"{self.name}.log", "wb") as log:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(["nice", "-n", str(less), "setpriv", "--pdeathsig", "KILL", *self.program.command(self.file)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=WORK,
                                            env={**os.environ, "GOTRACEBACK": "all", "HOME": WORK, "PATH": f"{folders}:{os.environ['PATH']}"})
        self.last = None

    def check_alive(self):
        if self.process.poll() is not None:
            with open(f"{self.name}.log", errors="replace", encoding="utf-8") as log:
                raise Broken(f"it ended with {self.process.returncode}: {log.read()[:3000]}")

    def ready(self):
        def asks():
            self.check_alive()
            try:
                ask = self.program.client(0)
                for i in range(8):
                    ask(i)
                return True
            except (OSError, Broken, http.client.HTTPException, IndexError) as error: # the first scrape has to come
                self.last = error
                return False
        if self.name == "containerd":
            until("containerd serves", lambda: self.check_alive() or os.path.exists(f"{WORK}/socket"))
            for n in range(CLIENTS):
                subprocess.run([f"{WORK}/package/usr/bin/ctr", "-a", f"{WORK}/socket", "namespaces", "create", f"space{n}"], check=True)
        try:
            until(f"{self.name} answers", asks)
        except Broken as late:
            raise Broken(f"{late}: {self.last!r}") from self.last

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.program.ended()


class Load:
    """Clients in a process of their own, which go on until it is terminated. What they did is in memory that all have."""

    def __init__(self, program):
        self.program = program
        self.done = multiprocessing.Array("Q", CLIENTS, lock=False)
        self.longest = multiprocessing.Array("d", CLIENTS, lock=False)
        self.wrong = multiprocessing.Value("Q", 0)
        self.log = f"{WORK}/{program.name}.wrong"
        self.process = multiprocessing.Process(target=self.run, daemon=True)
        self.process.start()

    def run(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.nice(LESS)
        threads = [threading.Thread(target=self.work, args=(n,), daemon=True) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def work(self, number):
        i, ask = 0, self.program.client(number)
        while True:
            begin = time.monotonic()
            try:
                ask(i)
            except Exception as error: # pylint: disable=broad-except # whatever it is, the answer was not right
                with self.wrong.get_lock():
                    self.wrong.value += 1
                with open(self.log, "a", encoding="utf-8") as file:
                    file.write(f"client {number}, {self.program.unit} {i}: {error!r}\n")
                ask = self.program.client(number)
            self.done[number] += 1
            self.longest[number] = max(self.longest[number], time.monotonic() - begin)
            i += 1

    def end(self):
        self.process.kill()
        self.process.join()


KINDS = {kind.name: kind for kind in (Prometheus, Etcd, Caddy, Containerd, Dockerd)}
