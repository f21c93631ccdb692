#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""runtime-probes.py BUILD [FOLDER]: what firing a probe of run time costs, untraced and counted by fastsdt-trace and by bpftrace, with the libraries in
BUILD/lib, and with the libstapsdt.so.0 in FOLDER, which is somebody else's. Of five runs the fastest. Needs root for bpftrace; without it, or without
bpftrace, that row is left out."""
import os
import re
import shutil
import signal
import subprocess
import sys

if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
build = os.path.abspath(sys.argv[1])
top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
program = os.path.join(build, "runtime_probes")
ours = os.path.join(build, "lib", "stapsdt")
subprocess.run(["cc", "-O2", f"-I{top}/include", f"{top}/bench/runtime_probes.c", "-o", program, f"-L{build}/lib", f"-L{ours}", "-lfastsdt-probes",
                "-lstapsdt",
                f"-Wl,-rpath,{build}/lib"], check=True)
SCRIPT = 'interval:ms:10 { printf("armed\\n"); } usdt:*:shop:order { @n = count(); }'
tracers = {"untraced": None, "fastsdt-trace": [os.path.join(build, "bin", "fastsdt-trace"), "--engine", "user"]}
if os.geteuid() == 0 and shutil.which("bpftrace"):
    tracers["bpftrace"] = ["bpftrace"]
libraries = {"fastsdt/probes.h, macro": (ours, ["macro"]), "fastsdt/probes.h": (ours, ["own"]), "libstapsdt.so.0, ours": (ours, [])}
if len(sys.argv) == 3:
    libraries["libstapsdt.so.0, theirs"] = (os.path.abspath(sys.argv[2]), [])


def cost(library, arguments, tracer, times):
    env = {**os.environ, "LD_LIBRARY_PATH": library}
    with subprocess.Popen([program, *arguments], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        pid = target.stdout.readline().strip()
        running = None
        if tracer:
            running = subprocess.Popen([*tracer, "-p", pid, "-e", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            said = []
            for line in running.stdout:
                said.append(line)
                if "armed" in line:
                    break
            else:
                target.communicate()
                return None, "".join(said)
        best = None
        for _ in range(5):
            print(times, file=target.stdin, flush=True)
            one = float(target.stdout.readline())
            best = one if best is None else min(best, one)
        seen = ""
        if running:
            running.send_signal(signal.SIGINT)
            said = running.communicate(timeout=100)[0]
            counted = re.search(r"@n: (\d+)", said)
            seen = "" if counted and int(counted[1]) == 5 * times else f" ({counted[1] if counted else 'none'} of {5 * times} hits counted)"
        target.communicate()
    return best, seen


for tracer, command in tracers.items():
    for name, (library, arguments) in libraries.items():
        times = {"untraced": 20_000_000, "fastsdt-trace": 5_000_000}.get(tracer, 100_000)
        if tracer == "fastsdt-trace" and "theirs" in name:
            times = 100_000
        nanoseconds, note = cost(library, arguments, command, times)
        print(f"{tracer:14} {name:24} " + (f"{nanoseconds:9.1f} ns{note}" if nanoseconds is not None else f"cannot: {note.strip().splitlines()[-1]}"),
              flush=True)
