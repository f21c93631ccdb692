#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tests/long/go-throughput.sh says, with the packages that it has unpacked in the current folder."""
import argparse
import base64
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

from go_programs import KINDS, LONG_ENOUGH, WORK, Broken, Client, Running, until

CONNECTIONS = 8
TICK = os.sysconf("SC_CLK_TCK")
MODES = {"all": "all entries, fastsdt-trace", "both": "all entries and returns, fastsdt-trace", "hot": "the hottest entries, fastsdt-trace",
         "bpftrace": "the hottest entries, bpftrace"}


# ---- Loads: a path, what is sent, and what each answer has to have.

def prometheus(port):
    del port
    return "/api/v1/query?query=6*7", "", '"42"]'


def etcd(port):
    key, value = (base64.b64encode(text).decode() for text in (b"a key", b"a value " * 20))
    Client(port).ask("/v3/kv/put", json.dumps({"key": key, "value": value}))
    return "/v3/kv/range", json.dumps({"key": key}), value


def caddy(port):
    del port
    with open("files/10000.txt", encoding="ascii") as file:
        return "/10000.txt", "", file.read()


LOADS = {"prometheus": prometheus, "etcd": etcd, "caddy": caddy}


class Measured(Running):
    def __init__(self, kind, arguments):
        super().__init__(kind, less=0)
        self.arguments = arguments
        self.addresses = []

    def prepare(self):
        self.ready()
        self.port = getattr(self.program, "port", None) or self.program.ports[0]
        path, body, wanted = LOADS[self.name](self.port)
        with open(f"{self.name}.lua", "w", encoding="ascii") as file:
            file.write(f'wrk.method = "{"POST" if body else "GET"}"\nwrk.path = [==[{path}]==]\n'
                       + (f"wrk.body = [==[{body}]==]\n" if body else "")
                       + f"local wanted, threads = [==[{wanted}]==], {{}}\nwrong, asked = 0, 0\nfunction setup(thread) table.insert(threads, thread) end\n"
                       "function response(status, headers, body)\n  asked = asked + 1\n"
                       "  if status ~= 200 or not string.find(body, wanted, 1, true) then wrong = wrong + 1 end\nend\n"
                       "function done(summary)\n  for _, thread in ipairs(threads) do\n"
                       '    print("answers " .. thread:get("asked") .. " wrong " .. thread:get("wrong"))\n  end\n'
                       "  for kind, count in pairs(summary.errors) do if count > 0 then print(count .. \" errors: \" .. kind) end end\nend\n")

    def processor(self):
        """The program's own seconds."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            words = file.read().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICK

    def load(self):
        """@return answers a second, the program's microseconds for each, and how many"""
        before, begin = self.processor(), time.monotonic()
        out = subprocess.run(["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{self.arguments.t}s", "-s", f"{self.name}.lua",
                              f"http://127.0.0.1:{self.port}"], capture_output=True, text=True, check=True).stdout
        took, used = time.monotonic() - begin, self.processor() - before
        self.check_alive()
        said = re.search(r"^answers (\d+) wrong (\d+)$", out, re.M)
        if not said or said[2] != "0" or said[1] == "0" or "errors: " in out:
            raise Broken(f"{self.name}: {out}")
        return int(said[1]) / took, 1e6 * used / int(said[1]), int(said[1])

    def hottest(self):
        """Names and addresses of the functions that a load hits most."""
        maps = self.traced("user", f"uprobe:{self.file}:* {{ @[func] = count(); }}", self.load)[1]
        hits = sorted(((int(n), name) for name, n in re.findall(r"^@\[(.*)\]: (\d+)$", maps, re.M)), reverse=True)
        addresses = {}
        for line in subprocess.run(["fastsdt-check", "--armable", self.file], capture_output=True, text=True, check=True).stdout.splitlines():
            if function := re.match(r"  (0x[0-9a-f]+)  (.*)  \d+ bytes; exits", line):
                addresses.setdefault(function[2], []).append(function[1])
        hot = [(n, name, addresses[name][0]) for n, name in hits if len(addresses.get(name, ())) == 1][:self.arguments.f]
        self.share = sum(n for n, _, _ in hot) / sum(n for n, _ in hits)
        self.hits = sum(n for n, _ in hits)
        self.names, self.addresses = [name for _, name, _ in hot], [int(address, 16) for _, _, address in hot]

    def script(self, mode):
        if mode in ("all", "both"):
            return f"uprobe:{self.file}:* {{ @in = count(); }}" + (f" uretprobe:{self.file}:* {{ @out = count(); }}" if mode == "both" else "")
        # Of a stripped program bpftrace knows no names, and takes an address for an offset in the file.
        places = map(self.offset, self.addresses) if mode == "bpftrace" else (f'"{name}"' for name in self.names)
        return ", ".join(f"uprobe:{self.file}:{place}" for place in places) + " { @in = count(); }"

    def offset(self, address):
        for line in subprocess.run(["readelf", "-lW", self.file], capture_output=True, text=True, check=True).stdout.splitlines():
            words = line.split()
            if words[:1] == ["LOAD"]:
                offset, start, _, size = (int(word, 16) for word in words[1:5])
                if start <= address < start + size:
                    return hex(address - start + offset)
        raise Broken(f"{self.file} has no {address:#x}")

    def traced(self, engine, script, load):
        """@return what the load says, what the tracer says, and how long it took until all was armed"""
        command = ["bpftrace", "--unsafe", "-p", str(self.process.pid), "-e", script]
        if engine == "user":
            command = ["fastsdt-trace", "--engine", "user", "-p", str(self.process.pid), "-e", f'interval:ms:10 {{ printf("armed\\n"); }} {script}']
        begin = time.monotonic()
        with open(f"{self.name}.errors", "w+", encoding="utf-8") as errors:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True) as tracer:
                try:
                    if engine == "user":
                        if tracer.stdout.readline() != "armed\n":
                            raise Broken(f"{self.name}: {engine}: {open(f'{self.name}.errors', encoding='utf-8').read()[-2000:]}")
                    else:
                        until("bpftrace has attached", lambda: self.attached(tracer))
                    took = time.monotonic() - begin
                    measured = load()
                    tracer.send_signal(signal.SIGINT)
                    out, _ = tracer.communicate(timeout=4 * LONG_ENOUGH) # the kernel takes its time for uprobes
                except BaseException:
                    tracer.kill()
                    raise
            errors.seek(0)
            if tracer.returncode not in (0, 1):
                raise Broken(f"{self.name}: {engine} ended with {tracer.returncode}: {errors.read()[-2000:]}")
        return measured, out, took

    def attached(self, tracer):
        """bpftrace has attached all, and waits for events. A SIGINT that comes earlier may be lost."""
        if tracer.poll() is not None:
            with open(f"{self.name}.errors", encoding="utf-8") as errors:
                raise Broken(f"bpftrace ended with {tracer.returncode}: {errors.read()[-2000:]}")
        with open(f"/proc/{tracer.pid}/wchan", encoding="ascii") as file:
            return "epoll" in file.read()

    def measure(self):
        """Figures of each round: by mode, requests a second, the processor's time, until armed, sites, entries for each request."""
        rounds = []
        for number in range(self.arguments.n):
            order = ["untraced", *MODES]
            random.Random(number).shuffle(order)
            figures = {}
            for mode in order:
                if mode == "untraced":
                    figures[mode] = self.load()
                    continue
                (rate, used, answers), out, took = self.traced("bpftrace" if mode == "bpftrace" else "user", self.script(mode), self.load)
                hits = re.search(r"^@in: ([1-9]\d*)$", out, re.M)
                sites = re.search(r"^sites (\d+) of (\d+) armed", out, re.M)
                if not hits or (mode != "bpftrace" and not sites):
                    raise Broken(f"{self.name}, {mode}: {out[-1000:]}")
                figures[mode] = (rate, used, took, int(sites[1]) if sites else len(self.addresses), int(hits[1]) / answers)
            if figures["bpftrace"][4] < 1:
                raise Broken(f"{self.name}: requests hit none of the functions that bpftrace counts")
            rounds.append(figures)
            print(f"{self.name}, round {number + 1}: " + ", ".join(f"{mode} {figures[mode][0]:,.0f}" for mode in figures), file=sys.stderr,
                  flush=True)
        return rounds

    def rows(self, rounds):
        untraced = statistics.median(r["untraced"][0] for r in rounds)
        yield f"| {self.name} | nothing | | | {untraced:,.0f} | 1 | 1 | |"
        for mode, says in MODES.items():
            ratios = [r[mode][0] / r["untraced"][0] for r in rounds]
            used = statistics.median(r[mode][1] / r["untraced"][1] for r in rounds)
            yield (f"| {self.name} | {says} | {rounds[-1][mode][3]:,} | {'' if mode == 'bpftrace' else f'{statistics.median(r[mode][4] for r in rounds):,.0f}'} | {statistics.median(r[mode][0] for r in rounds):,.0f} | "
                   f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}) | {used:.2f} | "
                   f"{statistics.median(r[mode][2] for r in rounds):.1f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=12)
    parser.add_argument("-t", type=int, default=3)
    parser.add_argument("-f", type=int, default=100)
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print("| program | traced | sites | entries for each request | requests a second | over untraced | processor's time for each | s until armed |\n|---|---|---|---|---|---|---|---|", flush=True)
    for name in arguments.programs or LOADS:
        program = Measured(KINDS[name], arguments)
        try:
            program.prepare()
            program.load()
            program.hottest()
            print("\n".join(program.rows(program.measure())), flush=True)
            print(f"{name}: the {len(program.addresses)} hottest functions have {100 * program.share:.1f} % of {program.hits} hits", file=sys.stderr)
        finally:
            program.end()


if not os.path.isdir(f"{WORK}/package"):
    sys.exit("go-throughput.py: run go-throughput.sh")
main()
