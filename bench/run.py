#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures everything and writes one JSON file: run.py [--quick] [--only PART,...] [-o FILE]. scripts/bench.sh calls it.

Each part is a module of bench/parts with TITLE, LIVE (needs root and uprobes) and measure(bench), which returns rows: flat
dictionaries. Rounds of what is compared are interleaved; a row has all its values, report.py takes the least and the median.
"""
import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(top, "bench"))
PARTS = ["hits", "trace", "kernel", "events", "stops", "programs", "disabled", "runtimes", "attach", "build", "tools", "fleet"]


class Unavailable(Exception):
    """A part, or a piece of it, cannot be measured here; the text is the reason."""


class Bench:
    """What the parts share."""

    def __init__(self, quick, build, work):
        self.quick, self.build, self.work, self.top = quick, build, work, top
        self.skipped, self.part = [], None

    def say(self, text):
        print(f"  {text}", file=sys.stderr, flush=True)

    def skip(self, what, why):
        self.skipped.append({"part": self.part, "what": what, "why": why})
        self.say(f"left out: {what}: {why}")

    def piece(self, what, measure, *arguments):
        """The rows of a piece of a part; none if it is unavailable, which leaves the rest of the part as it is."""
        try:
            return measure(self, *arguments)
        except Unavailable as why:
            self.skip(what, str(why))
            return []

    def bin(self, name):
        path = os.path.join(self.build, "bin", name)
        if not os.path.exists(path):
            raise Unavailable(f"{path} is not built")
        return path

    def run(self, command, **options):
        """Standard output of a command that has to succeed."""
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", **options)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise Unavailable(f"{' '.join(command)[:120]}: status {done.returncode}: {' / '.join(last)}")
        return done.stdout

    def folder(self, name):
        path = os.path.join(self.work, name)
        os.makedirs(path, exist_ok=True)
        return path

    def source(self, package):
        """The unpacked sources of a Debian package, fetched once; the upstream's, without Debian's patches."""
        sources = self.folder("sources")
        self.run([os.path.join(top, "scripts/common/upstream-source.sh"), package, sources])
        return os.path.join(sources, package)

    def peers(self):
        """The folder with systemtap's and libbpf's headers."""
        cache = os.environ.get("FASTSDT_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fastsdt")
        return self.run(["bash", os.path.join(top, "tests/header/fetch-peers.sh"), cache]).strip()

    def cost(self, command):
        """Processor seconds of a command and its children, and its status. Its output is not kept."""
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)])
        _, status, usage = os.wait4(pid, 0)
        return usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status)

    def peak(self, command):
        """Peak memory of a command, in MB, by time(1), which is small: a child of Python would begin with Python's memory."""
        file = os.path.join(self.work, "peak")
        self.cost(["/usr/bin/time", "-q", "-f", "%M", "-o", file, *command])
        with open(file) as text:
            return int(text.read()) / 1024

    def compilers(self, kinds=("gcc", "clang")):
        """(name, command, plugin) of the newest compilers that fastprobe was built for."""
        for kind in kinds:
            family = {"gcc": "gcc", "clang": "llvm"}[kind]
            found = self.run(["bash", "-c", f'. "{top}/scripts/common/versions.sh"; FASTSDT_BUILD="{self.build}" plugin {family}']).strip()
            if not found:
                self.skip(kind, "fastprobe was not built for it")
                continue
            command = found.replace("llvm-", "clang-")
            yield command, command, os.path.join(self.build, found, "fastprobe.so")

    def instructions(self, command, **options):
        """Instructions that a command executes, by valgrind --tool=callgrind."""
        options.setdefault("input", "")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], capture_output=True, text=True,
                              errors="replace",
                              **options)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode or not found:
            raise Unavailable(f"valgrind {command[0]}: {done.stderr.strip().splitlines()[-1:]}")
        return int(found[1])

    def script(self, *command, header, env=None):
        """Rows of the table that one of bench's scripts prints: `header` names its columns, whose first may have blanks. Other lines are headings
        and remarks, and `NAME  WHY` for a row that cannot be had."""
        rows = []
        for line in self.run([os.path.join(top, "bench", command[0]), *command[1:]], cwd=top, env={**os.environ, **(env or {})}).splitlines():
            words = line.rsplit(maxsplit=len(header) - 1) if len(header) > 1 else [line]
            try:
                rows.append({header[0]: words[0].strip(), **{h: float(w) for h, w in zip(header[1:], words[1:], strict=True)}})
            except (ValueError, IndexError):
                if missing := re.fullmatch(r"(\S.*?) {2,}(not .*)", line):
                    self.skip(missing[1], missing[2])
        return rows


def as_text(results):
    """JSON with one row a line, so that a diff of two runs shows the rows that differ."""
    rows = []

    def taken_out(value):
        if isinstance(value, dict):
            return {key: [f"@row {rows.append(row) or len(rows) - 1}@" for row in one] if key == "rows" else taken_out(one)
                    for key, one in value.items()}
        return value

    text = json.dumps(taken_out(results), indent=1)
    return re.sub(r'"@row (\d+)@"', lambda found: json.dumps(rows[int(found[1])]), text) + "\n"


OF_A_PART = ("kernel", "processor")  # each part says itself on which it was measured


def machine():
    """What the figures were measured on."""
    def first(command):
        try:
            return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0]
        except (OSError, IndexError):
            return ""
    info = open("/proc/cpuinfo").read()
    lscpu = subprocess.run(["lscpu"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    model = re.search(r"^model name\s*: (.*)$", info, re.M)
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', open("/etc/os-release").read(), re.M))
    try:
        matplotlib = importlib.metadata.version("matplotlib")
    except importlib.metadata.PackageNotFoundError:
        matplotlib = "" # report.py will say so
    return {"processor": model[1] if model else platform.machine(), "processors": os.cpu_count(), "kernel": platform.release(),
            "hypervisor": (re.search(r"^Hypervisor vendor:\s*(.*)$", lscpu, re.M) or ["", "none"])[1], "system": release.get("PRETTY_NAME", ""),
            "gcc": first(["gcc", "--version"]), "architecture": platform.machine(), "matplotlib": matplotlib}


def no_probes():
    """Why no uprobe can be attached here, or nothing."""
    if not os.path.exists("/sys/bus/event_source/devices/uprobe/type"):
        return "this kernel has no uprobes"
    return "" if os.geteuid() == 0 else "attaching probes needs root"


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts us in the background has us and all below ignore it
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="fewer rounds, one guest, no program but Redis: under five minutes")
    arguments.add_argument("--only", type=lambda text: text.split(","), default=PARTS, help="parts: " + ", ".join(PARTS))
    arguments.add_argument("-o", "--output", default="results.json")
    options = arguments.parse_args()
    for part in options.only:
        if part not in PARTS:
            arguments.error(f"no part {part}; there are {', '.join(PARTS)}")
    build = os.path.realpath(os.environ.get("FASTSDT_BUILD", os.path.join(top, "build/bench")))
    bench = Bench(options.quick, build, os.path.join(build, "work"))
    commit = subprocess.run(["git", "-C", top, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    results = {"command": "scripts/bench.sh" + (" --quick" if options.quick else ""), "machine": machine(), "parts": {}, "skipped": bench.skipped}
    if options.only != PARTS and os.path.exists(options.output):
        with open(options.output) as text: # --only renews parts of a run of the same kind on the same machine
            before = json.load(text)
        where = {name: before["machine"][name] for name in OF_A_PART}
        if (before["command"], {**before["machine"], **where}) == (results["command"], {**results["machine"], **where}):
            results["parts"] = {name: {**where, **part} for name, part in before["parts"].items() if name not in options.only}
            bench.skipped += [skipped for skipped in before["skipped"] if skipped["part"] not in options.only]
    obstacle = no_probes()

    def save():  # after each part, so that a later one that fails takes nothing away
        with open(options.output + ".new", "w") as out:
            out.write(as_text(results))
        os.rename(options.output + ".new", options.output)

    for name in options.only:
        part = importlib.import_module(f"parts.{name}")
        print(f"== {part.TITLE}", file=sys.stderr, flush=True)
        bench.part = name
        started = time.monotonic()
        try:
            if part.LIVE and obstacle:
                raise Unavailable(obstacle)
            rows = part.measure(bench)
        except Unavailable as why:
            bench.skip(part.TITLE, str(why))
        else:
            results["parts"][name] = {**{name: results["machine"][name] for name in OF_A_PART}, "date": datetime.date.today().isoformat(),
                                      "commit": commit, "seconds": round(time.monotonic() - started), "rows": rows}
        save()


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]  # the parts import it
    main()
