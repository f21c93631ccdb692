#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""probe.py [--sites 1,100,10000] [--seconds 3]: what a process suffers from being probed, for fastsdt-probe, bpftrace and
perf. The process creates threads and forks as fast as it can and has a thread that sleeps a millisecond at a time; the
sites are not hit, so that what is seen is the cost of attaching, of being followed and of detaching. Prints for each tool
and number of sites: seconds to attach and to detach, threads and forks a second while attached, and the longest time
the sleeping thread was late from before the attach to after the detach. Needs root; perf needs tracefs mounted.
FASTSDT_PROBE names the tool, else build/default's."""
import argparse, errno, mmap, os, shutil, signal, struct, subprocess, sys, tempfile, time

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
probe = os.environ.get("FASTSDT_PROBE", top + "/build/default/bin/fastsdt-probe")
arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--sites", default="1,100,10000")
arguments.add_argument("--seconds", type=float, default=3)
options = arguments.parse_args()
longest = 40  # seconds to attach or to detach, for any tool
most_for_others = 1000  # the others take a perf event a site, and 0.1 s to close each

PROGRAM = r"""
#include <fastsdt.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
%s
static volatile struct { unsigned long threads, forks, stall; } *shared; /* stall: ns, set to 0 from outside */
static void *nothing(void *p) { return p; }
static void *threads(void *p) {
    for (;;) { pthread_t t; if (!pthread_create(&t, 0, nothing, 0)) { pthread_join(t, 0); shared->threads++; } }
    return p;
}
static void *sleeper(void *p) {
    struct timespec a, b, ms = {0, 1000000};
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (;; a = b) {
        nanosleep(&ms, 0);
        clock_gettime(CLOCK_MONOTONIC, &b);
        unsigned long ns = (b.tv_sec - a.tv_sec) * 1000000000ul + b.tv_nsec - a.tv_nsec - 1000000;
        if (ns > shared->stall) shared->stall = ns;
    }
    return p;
}
int main(int argc, char **argv) {
    pthread_t t;
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1], O_RDWR), 0);
    if (argc > 2) for (int i = 0; i < %d; i++) all[i](i);
    pthread_create(&t, 0, threads, 0);
    pthread_create(&t, 0, sleeper, 0);
    for (;;) { pid_t c = fork(); if (c == 0) _exit(0); waitpid(c, 0, 0); shared->forks++; }
}
"""

def build(folder, sites):
    functions = "".join(f"__attribute__((noinline)) void site{i}(int n) {{ FASTSDT(bench, p{i}, n); }}\n" for i in range(sites))
    functions += "static void (*const all[])(int) = {" + ",".join(f"site{i}" for i in range(sites)) + "};\n"
    source, program = f"{folder}/target{sites}.c", f"{folder}/target{sites}"
    with open(source, "w") as out:
        out.write(PROGRAM % (functions, sites))
    subprocess.run(["cc", "-O1", f"-I{top}/include", source, "-o", program, "-lpthread"], check=True)
    return program

class Target:
    def __init__(self, program, folder):
        path = folder + "/shared"
        with open(path, "wb") as out:
            out.write(bytes(4096))
        self.file = open(path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 4096)
        self.process = subprocess.Popen([program, path])
        time.sleep(0.3)
        self.forget_stall()
    def forget_stall(self): self.memory[16:24] = bytes(8)
    def look(self): return struct.unpack("QQQ", self.memory[:24])
    def rates(self, seconds):
        a, start = self.look(), time.monotonic()
        time.sleep(seconds)
        b, took = self.look(), time.monotonic() - start
        return (b[0] - a[0]) / took, (b[1] - a[1]) / took
    def end(self): self.process.kill(); self.process.wait()

def run_tool(target, command, ready, environment=None):
    """Seconds to attach, rates, seconds to detach; or a reason."""
    start = time.monotonic()
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(tool.pid, signal.SIGKILL))  # the shell's children hold its output open
    signal.alarm(longest)
    said = ""
    for line in tool.stdout:
        said += line
        if ready in line:
            break
    else:
        tool.wait()
        return f"not attached after {time.monotonic() - start:.0f} s: {said.strip().splitlines()[-1][:60] if said.strip() else 'no word'}"
    signal.alarm(0)
    attach = time.monotonic() - start
    rates = target.rates(options.seconds)
    start = time.monotonic()
    signal.alarm(longest)
    tool.send_signal(signal.SIGINT)
    tool.stdout.read()
    tool.wait()
    signal.alarm(0)
    detach = time.monotonic() - start
    return (attach, rates, detach) if detach < longest else f"not detached after {longest} s"

def measure(name, program, folder, command, ready, environment=None):
    target = Target(program, folder)
    try:
        before = target.rates(options.seconds)
        quiet = target.look()[2] / 1e6
        target.forget_stall()
        result = run_tool(target, command(target.process.pid), ready, environment)
        if isinstance(result, str):
            print(f"{name:<34} {result}")
            return
        attach, during, detach = result
        stall = target.look()[2] / 1e6
        print(f"{name:<34} {attach:8.2f} {detach:8.2f} {during[0]:10.0f} {during[0] / before[0]:6.2f} {during[1]:9.0f} "
              f"{during[1] / before[1]:6.2f} {stall:10.1f} {quiet:10.1f}")
    finally:
        target.end()

if os.geteuid() != 0:
    sys.exit("probe.py: attaching uprobes needs root")
with tempfile.TemporaryDirectory() as folder:
    print(f"{'':<34} {'attach s':>8} {'detach s':>8} {'threads/s':>10} {'ratio':>6} {'forks/s':>9} {'ratio':>6} {'stall ms':>10} "
          f"{'without':>10}")
    for sites in (int(n) for n in options.sites.split(",")):
        program = build(folder, sites)
        measure(f"fastsdt-probe --pid, {sites}", program, folder, lambda pid: [probe, "--pid", str(pid), program], "attached")
        measure(f"fastsdt-probe --children, {sites}", program, folder,
                lambda pid: [probe, "--children", "--pid", str(pid), program], "attached")
        if sites > most_for_others:
            for other in ("bpftrace -p", "perf stat -p"):
                print(f"{other}, {sites}".ljust(34), "not tried: it has a perf event for each site, and the kernel takes 0.1 s to close one")
            continue
        if shutil.which("bpftrace"):
            script = f'BEGIN {{ printf("attached\\n"); }} uprobe:{program}:site* {{ @ = count(); }}'
            measure(f"bpftrace -p, {sites}", program, folder, lambda pid: ["bpftrace", "-p", str(pid), "-e", script], "attached",
                    dict(os.environ, BPFTRACE_MAX_PROBES="100000", BPFTRACE_STRLEN="64"))
        events = "/sys/kernel/tracing/uprobe_events"
        if shutil.which("perf") and os.path.exists(events):
            offsets = [line.split() for line in subprocess.run(["nm", program], capture_output=True, text=True).stdout.splitlines()]
            def write(lines):
                last = time.monotonic() + longest
                for line in lines:
                    file = os.open(events, os.O_WRONLY | os.O_APPEND)
                    while True:
                        try:
                            os.write(file, line.encode() + b"\n")
                            break
                        except OSError as error:  # a perf that was killed closes its events one by one
                            if error.errno != errno.EBUSY or time.monotonic() > last:
                                raise
                            time.sleep(0.1)
                    os.close(file)
            names = [(n[2], int(n[0], 16)) for n in offsets if len(n) == 3 and n[2].startswith("site")]
            write(f"p:fastsdt_bench/{n} {program}:{a:#x}" for n, a in names)
            try:
                # perf says nothing when it has attached; the shell says so when perf enables the events.
                measure(f"perf stat -p, {sites}", program, folder, lambda pid: ["sh", "-c",
                    'd=$(mktemp -d); mkfifo $d/c $d/a; exec 5<>$d/c 6<>$d/a; echo ping >&5; '
                    f'perf stat -e "fastsdt_bench:*" -p {pid} --control fd:5,6 2>/dev/null & p=$!; trap "kill -INT $p" INT; '
                    'read -r x <&6; echo attached; wait $p; wait $p; rm -r $d'], "attached")
            finally:
                write(f"-:fastsdt_bench/{n}" for n, _ in names)
