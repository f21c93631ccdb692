# SPDX-License-Identifier: BSD-2-Clause
"""Many processes of one program: attaching to them, and what `fastsdt-trace serve` takes while it traces them and is asked."""
import os
import re
import subprocess
import time
import urllib.request

from run import Unavailable

TITLE = "Many processes"
LIVE = False
SECONDS = 300  # longest that anything is waited for
SCRIPT = "usdt:*:fleet:hit { @ = count(); }"
SOURCE = """#include <fastsdt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static __attribute__((noinline)) void hit(long i)
{
    FASTSDT(fleet, hit, i);
}
int main(int argc, char** argv) /* N: hits 0 to N-1 once, when it is told to; and one each 100 ms */
{
    char word;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc > 1)
        read(0, &word, 1);
    for (long i = 0; i < (argc > 1 ? atol(argv[1]) : 0); ++i)
        hit(i);
    write(1, "x", 1);
    for (;; usleep(100000))
        hit(0);
}
"""


def started(program, count):
    targets = [subprocess.Popen([program], stdout=subprocess.PIPE) for _ in range(count)]
    for target in targets:
        target.stdout.read(1)  # it runs
    return targets


def ended(targets):
    for target in targets:
        target.kill()
    for target in targets:
        target.communicate()


def processor(pid):
    """Seconds of a processor so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """RSS and PSS in MB."""
    with open(f"/proc/{pid}/smaps_rollup") as text:
        found = dict(re.findall(r"^(Rss|Pss): +(\d+) kB", text.read(), re.M))
    return {name.lower(): round(int(kilobytes) / 1024, 1) for name, kilobytes in found.items()}


class Service:
    def __init__(self, bench, *options):
        self.tool = subprocess.Popen([bench.bin("fastsdt-trace"), "serve", "--listen", "127.0.0.1:0", *options], stderr=subprocess.PIPE, text=True)
        for line in self.tool.stderr:
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
                return
        raise Unavailable("fastsdt-trace serve ended")

    def ask(self):
        with urllib.request.urlopen(self.address, timeout=SECONDS) as answer:
            return answer.read().decode()

    def number(self, name):
        return float(re.search(rf"^{name}{{[^}}]*}} (\S+)$", self.ask(), re.M)[1])

    def end(self):
        self.tool.terminate()
        self.tool.communicate(timeout=SECONDS)


def attach(bench, program, count):
    """From the tool's start until all sites are armed; its memory then."""
    targets = started(program, count)
    begin = time.monotonic()
    tool = subprocess.Popen([bench.bin("fastsdt-trace"), "--engine", "user", "--exe", program, "-e",
                             'interval:ms:1 { printf("armed\\n"); } ' + SCRIPT],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in tool.stdout:
        if line == "armed\n":
            break
    row = {"what": "attach", "processes": count, "seconds": round(time.monotonic() - begin, 2), "processor_s": round(processor(tool.pid), 2),
           **memory(tool.pid)}
    begin = time.monotonic()
    tool.terminate()
    armed = re.search(r"^sites (\d+) of \d+ armed", tool.stdout.read(), re.M)
    tool.wait(SECONDS)
    ended(targets)
    if not armed or int(armed[1]) != count:
        raise Unavailable(f"not all of {count} processes were armed")
    return {**row, "detach_s": round(time.monotonic() - begin, 2)}


def idle(bench, program, count, seconds):
    """What the service takes while it traces, and nobody asks; and what the targets take with it and without."""
    targets = started(program, count)

    def of_targets():
        before = sum(processor(target.pid) for target in targets)
        time.sleep(seconds)
        return round((sum(processor(target.pid) for target in targets) - before) * 60 / seconds / count, 3)
    untraced = of_targets()
    service = Service(bench, "--exe", program, "-e", SCRIPT)
    if service.number("fastsdt_sites_armed") != count:
        raise Unavailable(f"not all of {count} processes were armed")
    before = processor(service.tool.pid)
    traced = of_targets()
    used = (processor(service.tool.pid) - before) * 60 / seconds
    row = {"what": "serve", "processes": count, "processor_s_a_minute": round(used, 2), **memory(service.tool.pid),
           "target_untraced_s_a_minute": untraced, "target_traced_s_a_minute": traced}
    service.end()
    ended(targets)
    return row


def keys(bench, program, series, folder):
    """A map of that many keys: time that a question takes, and size of the answer."""
    with open(f"{folder}/trace.json", "w") as out:
        out.write('{"keys": %d, "scripts": [{"name": "fleet", "script": "usdt:*:fleet:hit { @[arg0] = count(); }", "exe": "%s"}]}' % (series, program))
    gate = subprocess.Popen([program, str(series)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    service = Service(bench, "--config", f"{folder}/trace.json")
    gate.stdin.write(b"x")  # its sites are armed: it makes its hits
    gate.stdin.flush()
    gate.stdout.read(1)
    times, own = [], []
    for _ in range(11):
        begin = time.monotonic()
        text = service.ask()
        times.append(round((time.monotonic() - begin) * 1000, 2))
        own.append(round(float(re.search(r"^fastsdt_scrape_duration_seconds (\S+)", text, re.M)[1]) * 1000, 2))
    found = len(re.findall(r"^fleet[a-z_]*{", text, re.M))
    row = {"what": "scrape", "series": found, "ms": times, "made_ms": own, "kilobytes": round(len(text) / 1024, 1), **memory(service.tool.pid)}
    service.end()
    ended([gate])
    if found != series:
        raise Unavailable(f"{found} series instead of {series}")
    return row


def measure(bench):
    folder = bench.folder("fleet")
    program = f"{folder}/fleet"
    with open(program + ".c", "w") as out:
        out.write(SOURCE)
    bench.run(["gcc", "-O2", "-I", f"{bench.top}/include", program + ".c", "-o", program])
    rows = []
    for count in (1, 100) if bench.quick else (1, 10, 100, 1000):
        rows.append(attach(bench, program, count))
        bench.say(f"attached to {count}")
    for count in (1, 100) if bench.quick else (1, 10, 100):
        rows.append(idle(bench, program, count, 10 if bench.quick else 15))
        bench.say(f"served {count}")
    for series in (1000, 10000):
        rows.append(keys(bench, program, series, folder))
        bench.say(f"asked for {series} series")
    return rows
