# SPDX-License-Identifier: BSD-2-Clause
"""Tracers of a process of traced.c, each as its manual has it: for parts/trace.py."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from run import Unavailable

SECONDS = 60  # longest that anything is waited for
ARMED = 'interval:s:1 { printf("armed\\n"); }'  # a script's first words after its sites are armed: the same in both tools
SITE = "usdt:FILE:bench:hit { %s }"


class Target:
    """A process of traced.c. `command` is what is put before it."""

    def __init__(self, file, threads, loop, *, command=(), arguments=(), environment=None):
        self.file, self.threads, self.loop, self.passes = file, threads, loop, 0
        self.process = subprocess.Popen([*command, file, str(threads), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE,
                                        text=True, bufsize=1, env={**os.environ, **(environment or {})}, cwd=os.path.dirname(file))
        for line in self.process.stdout:
            if line == "ready\n":  # uftrace and XRay may say something before
                return
        raise Unavailable(f"{os.path.basename(file)}: {self.process.stderr.read().strip()[-200:]}")

    def ask(self, loop, number=0):
        self.process.stdin.write(f"{loop} {number}\n")
        answer = self.process.stdout.readline()
        if not answer:
            raise Unavailable(f"{os.path.basename(self.file)} ended with status {self.process.wait()}")
        return int(answer)

    def time(self, turns):
        """Nanoseconds of a processor for one turn."""
        self.passes += turns * self.threads
        return self.ask(self.loop, turns) * min(self.threads, os.cpu_count()) / (turns * self.threads)

    def calibrate(self, milliseconds, most):
        """Warms up, and sets `turns` to what fits into the time."""
        self.time(1000)
        self.turns = max(1000, min(most, int(milliseconds * 1e6 / max(self.time(10000), 0.1) * min(self.threads, os.cpu_count()) / self.threads)))

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def started(command, ready, **options):
    """A tool, when it has said that it is ready."""
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    for line in tool.stdout:
        if ready in line:
            return tool
    raise Unavailable(f"{command[0]}: {tool.stderr.read().strip()[-300:]}")


def stopped(tool):
    """What a tool printed since it was ready."""
    tool.send_signal(signal.SIGINT)
    try:
        return tool.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        tool.kill()
        raise Unavailable(f"{tool.args[0]} did not end") from None


def total(said):
    """Of all values of all maps that a tool printed as bpftrace -f json does."""
    def add(value):
        if isinstance(value, dict):
            return value["count"] if "count" in value and "min" in value else sum(map(add, value.values()))
        return sum(map(add, value)) if isinstance(value, list) else value
    found = 0
    for line in said.splitlines():
        line = json.loads(line) if line.startswith("{") else {}
        if line.get("type") == "map":
            found += add(line["data"])
        elif line.get("type") == "hist":
            found += sum(bucket["count"] for buckets in line["data"].values() for bucket in buckets)
    return found


class Way:
    """One tool that does one thing: prepare() starts it and its target, finish() ends them and checks what was counted."""
    variant = "fastsdt"  # of the program: what an idle turn is taken from

    def __init__(self, tool, action, loop):
        self.tool, self.action, self.loop, self.target = tool, action, loop, None
        self.most = 1 << 40  # turns in a round

    def start(self, bench, file, threads):
        self.target = Target(file, threads, self.loop)

    def finish(self, bench):
        self.target.end()

    def expect(self, found, wanted):
        if found != wanted:
            raise Unavailable(f"{self.tool}, {self.action}: {wanted} passes, {found} counted")


class Idle(Way):
    def __init__(self, variant, loop):
        super().__init__("-", "idle", loop)
        self.variant = variant


KERNEL = "fastsdt-trace --engine kernel"


def runner(bench, tool):
    """The words that run a script, with its maps as JSON."""
    return {"fastsdt-trace": [bench.bin("fastsdt-trace"), "--engine", "user", "--json"],
            KERNEL: [bench.bin("fastsdt-trace"), "--engine", "kernel", "--json"],
            "bpftrace": ["bpftrace", "-f", "json"]}[tool]


class Script(Way):
    def __init__(self, tool, action, loop, script, check):
        super().__init__(tool, action, loop)
        self.script, self.check = script, check

    def start(self, bench, file, threads):
        super().start(bench, file, threads)
        self.tracer = started([*runner(bench, self.tool), "-p", str(self.target.process.pid), "-e", ARMED + self.script.replace("FILE", file)],
                              "armed")

    def finish(self, bench):
        said = stopped(self.tracer)
        if self.check:
            self.expect(total(said), self.target.passes * (2 if self.check == "twice" else 1))
        super().finish(bench)


def wait_for(words, file, tool):
    """Until a tool that writes into a file has said something there."""
    while not any(words in line for line in open(file)):
        if tool.poll() is not None:
            raise Unavailable(f"{tool.args[0]}: {tool.stderr.read().strip()[-300:]}")
        time.sleep(0.05)


def buffer_of(threads):
    """Of each of so many threads: two or three rounds fill it, so that the others find its memory there."""
    return f"{16 // threads}M"


class Prints(Script):
    """A line for each hit, into a file."""

    def __init__(self, tool, *options, action="printf of two integers"):
        super().__init__(tool, action, "site", SITE % 'printf("hit %d %d\\n", arg0, arg1);', True)
        self.most = 200_000  # more do not fit into the buffers while the others are measured
        self.options = options

    def start(self, bench, file, threads):
        Way.start(self, bench, file, threads)
        self.most //= threads
        self.printed = f"{file}.{self.tool}"
        command = [bench.bin("fastsdt-trace"), "--engine", "user", "--buffer", buffer_of(threads),
                   *self.options] if self.tool == "fastsdt-trace" else ["bpftrace"]
        with open(self.printed, "w") as out:
            self.tracer = subprocess.Popen([*command, "-p", str(self.target.process.pid), "-e", ARMED + self.script.replace("FILE", file)],
                                           stdout=out,
                                           stderr=subprocess.PIPE, text=True, env={**os.environ, "BPFTRACE_PERF_RB_PAGES": "4096"})
        wait_for("armed", self.printed, self.tracer)

    def finish(self, bench):
        self.tracer.send_signal(signal.SIGINT)
        self.tracer.communicate(timeout=SECONDS)
        with open(self.printed) as lines:
            self.expect(sum(line.startswith("hit ") for line in lines), self.target.passes)
        os.unlink(self.printed)
        Way.finish(self, bench)


class Records(Way):
    """Each hit an event of a trace, which babeltrace2 counts."""
    WAYS = {"site": ("two integers, to a file", SITE % 'printf("hit %d %d\\n", arg0, arg1);', 1),
            "call": ("entries and exits, to a file", 'uprobe:FILE:work { printf("in\\n"); } uretprobe:FILE:work { printf("out\\n"); }', 2)}

    def __init__(self, loop, buffer=None):
        self.buffer = buffer
        action, self.script, self.events = self.WAYS[loop]
        super().__init__("fastsdt-trace record", action, loop)

    def start(self, bench, file, threads):
        super().start(bench, file, threads)
        self.most = 200_000 // threads  # as for Prints
        self.folder, self.said = f"{file}.trace", f"{file}.said"
        shutil.rmtree(self.folder, ignore_errors=True)
        with open(self.said, "w") as out:
            self.tracer = subprocess.Popen([bench.bin("fastsdt-trace"), "record", "-o", self.folder, "--buffer", self.buffer or buffer_of(threads),
                                            "-p", str(self.target.process.pid),
                                            "-e", ARMED + self.script.replace("FILE", file)], stdout=out, stderr=subprocess.PIPE, text=True)
        wait_for("armed", self.said, self.tracer)

    def counted(self, bench):
        """Events of the trace, as a foreign reader has them, those that the tool says it lost, and the bytes of the trace."""
        self.tracer.send_signal(signal.SIGINT)
        self.tracer.communicate(timeout=SECONDS)
        with open(self.said) as report:
            lost = sum(int(number) for number in re.findall(r"\b(?:dropped|lost) (\d+)", report.read()))
        events = int(re.search(r"(\d+) Event messages?", bench.run(["babeltrace2", self.folder, "-c", "sink.utils.counter", "-p", "step=+0"]))[1])
        size = sum(os.path.getsize(os.path.join(self.folder, name)) for name in os.listdir(self.folder))
        shutil.rmtree(self.folder)
        os.unlink(self.said)
        return events, lost, size

    def finish(self, bench):
        self.expect(self.counted(bench)[0], self.target.passes * self.events)
        super().finish(bench)


class Detached(Script):
    """fastsdt-trace has been there and has gone."""

    def __init__(self):
        super().__init__("fastsdt-trace", "after detaching", "site", SITE % "@ = count();", True)

    def start(self, bench, file, threads):
        super().start(bench, file, threads)
        self.target.time(1000)
        self.expect(total(stopped(self.tracer)), self.target.passes)
        self.changed = 0
        with open(f"/proc/{self.target.process.pid}/maps") as maps, open(f"/proc/{self.target.process.pid}/mem", "rb") as memory, open(file,
            "rb") as own:
            for line in maps:
                words = line.split()
                if words[-1] != file or "x" not in words[1]:
                    continue
                start, end = (int(address, 16) for address in words[0].split("-"))
                memory.seek(start)
                own.seek(int(words[2], 16))
                there = memory.read(end - start)
                self.changed += sum(a != b for a, b in zip(there, own.read(end - start).ljust(len(there), b"\0")))

    def finish(self, bench):
        Way.finish(self, bench)


class Perf(Way):
    """perf stat of a uprobe where `fastsdt-check --plan` has it."""
    GROUP = "fastsdt_bench"

    def events(self, line):
        file = os.open("/sys/kernel/tracing/uprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line.encode() + b"\n")
        finally:
            os.close(file)

    def start(self, bench, file, threads):
        super().start(bench, file, threads)
        plan = json.loads(bench.run([bench.bin("fastsdt-check"), "--plan", "--json", file]))["files"][0]["plan"]
        place = next(p for p in plan if p["name"] == "hit")
        self.event = f"hit_{threads}"
        self.events(f"p:{self.GROUP}/{self.event} {file}:{place['file_offset']:#x}")
        (take, order), (answer, give) = os.pipe(), os.pipe()
        self.tracer = subprocess.Popen(["perf", "stat", "-x,", "-e", f"{self.GROUP}:{self.event}", "-p", str(self.target.process.pid), "--control",
                                        f"fd:{take},{give}"],
                                       pass_fds=(take, give), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        os.close(take)
        os.close(give)
        os.write(order, b"ping\n")
        said = os.read(answer, 16)
        os.close(order)
        os.close(answer)
        if not said.startswith(b"ack"):
            self.events(f"-:{self.GROUP}/{self.event}")
            raise Unavailable(f"perf: {self.tracer.stderr.read().strip()[-200:]}")

    def finish(self, bench):
        self.tracer.send_signal(signal.SIGINT)
        said = self.tracer.communicate(timeout=SECONDS)[1]
        self.events(f"-:{self.GROUP}/{self.event}")
        self.expect(int(re.search(r"^(\d+),", said, re.M)[1]), self.target.passes)
        super().finish(bench)


class Lttng(Way):
    """A snapshot session, a flight recorder, with the default channel."""
    variant = "lttng"

    def __init__(self):
        super().__init__("LTTng-UST", "two integers into a snapshot's buffer", "site")

    def start(self, bench, file, threads):
        self.folder = bench.folder("trace-lttng")
        self.session = f"fastsdt-{threads}"
        bench.run(["lttng-sessiond", "--daemonize", "--no-kernel", "--pidfile", f"{self.folder}/daemon"])
        try:
            for words in (["create", self.session, "--snapshot", f"--output={self.folder}/{self.session}"],
                          ["enable-event", "--userspace", "--session", self.session, "bench:hit"], ["start", self.session]):
                bench.run(["lttng", *words])
            self.target = Target(file, threads, self.loop, environment={"LTTNG_UST_REGISTER_TIMEOUT": "-1"})
            # Only this process: the idle one has the same events.
            bench.run(["lttng", "track", "--userspace", "--session", self.session, "--vpid", str(self.target.process.pid)])
        except Unavailable:
            self.leave()
            raise

    def leave(self):
        with open(f"{self.folder}/daemon") as pid:
            os.kill(int(pid.read()), signal.SIGTERM)

    def finish(self, bench):
        try:
            super().finish(bench)
            bench.run(["lttng", "snapshot", "record", "--session", self.session])
            written = sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(f"{self.folder}/{self.session}")
                          for name in names if "channel" in name)
            if written < 1 << 20:  # with every turn recorded it is at least 1.7 MB, with none 4 KiB for each processor
                raise Unavailable(f"LTTng-UST wrote {written} bytes")
            bench.run(["lttng", "destroy", self.session])
        finally:
            self.leave()


class Uftrace(Way):
    variant = "uftrace"

    def __init__(self):
        super().__init__("uftrace", "entries and exits, to a file", "call")
        self.most = 20000  # they go to a file, 16 bytes each

    def start(self, bench, file, threads):
        self.data = f"{os.path.dirname(file)}/{os.path.basename(file)}.data"
        shutil.rmtree(self.data, ignore_errors=True)
        self.target = Target(file, threads, self.loop, command=["uftrace", "record", "--no-libcall", "-F", "work", "-d", self.data])

    def finish(self, bench):
        super().finish(bench)
        said = bench.run(["uftrace", "report", "-d", self.data, "-F", "work"])
        if not re.search(r"\bwork\b", said):
            raise Unavailable("uftrace recorded no call of work()")
        shutil.rmtree(self.data)


class Xray(Way):
    variant = "xray"

    def __init__(self, mode):
        super().__init__("XRay", {"handler": "entries and exits, a handler that counts", "fdr": "entries and exits, into FDR's buffers"}[mode],
                         "call")
        self.mode = mode

    def start(self, bench, file, threads):
        fdr = " xray_mode=xray-fdr" if self.mode == "fdr" else ""
        self.folder = bench.folder(f"trace-xray/{self.mode}-{threads}")
        self.target = Target(file, threads, self.loop, arguments=["handler"] if self.mode == "handler" else [], environment={
            "XRAY_OPTIONS": f"patch_premain=true verbosity=1 xray_logfile_base={self.folder}/log.{fdr}",
            "XRAY_FDR_OPTIONS": "func_duration_threshold_us=0"})

    def finish(self, bench):
        super().finish(bench)
        if self.mode == "fdr" and not os.listdir(self.folder):
            raise Unavailable(f"XRay wrote no log: {(self.target.process.stderr.read().strip().splitlines() or ['no word'])[-1]}")
        shutil.rmtree(self.folder)
