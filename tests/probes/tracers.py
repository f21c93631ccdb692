"""tracers.py ARGUMENTS USER FASTSDT-TRACE BPFTRACE GDB TARGET...: a program under each tracer, which are command lines or empty. All of them see the
same hits and values.

The program, started by the command line USER in front of it, prints its process ID, has the probes shop:order(long, const char *, double, bool),
shop:named(long id, const char *item) and shop:twelve with so many arguments, hits them N times for each line with a number N, as hits() has it, and
answers "did"; another line it answers by whether all of them are enabled, "True" or "False"."""
import json
import re
import shlex
import signal
import subprocess
import sys

ARGUMENTS, USER, FASTSDT_TRACE, BPFTRACE, GDB, *TARGET = sys.argv[1:]
HITS = 100
WANTED = {"@n": HITS, "@ids": sum(range(HITS)), "@texts": {"coffee": 34, "tea": 66, "milk": HITS}, "@true": HITS // 2,
          "@named": -sum(range(HITS)), "@sixth": sum(range(5, 5 + HITS))}
SCRIPT = """usdt:*:shop:order { @n = count(); @ids = sum(arg0); @texts[str(arg1)] = count(); @true = sum(arg3); }
usdt:*:shop:named { @named = sum((int64)arg0); @texts[str(arg1)] = count(); }
usdt:*:shop:twelve { @sixth = sum(arg5); }
interval:ms:100 { printf("armed\\n"); }"""


def start(command):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def hit(target, times):
    print(times, file=target.stdin, flush=True)
    if target.stdout.readline() != "did\n":
        sys.exit("FAIL: the target has ended")


def begin():
    target = start([*shlex.split(USER), *TARGET])
    first = target.stdout.readline()
    if not first.strip().isdigit():
        sys.exit(f"FAIL: the target: {first}{target.communicate()[0]}")
    return target, int(first)


def end(target):
    target.communicate(timeout=100)
    if target.returncode:
        sys.exit(f"FAIL: the target: status {target.returncode}")


def with_maps(tracer, options):
    target, pid = begin()
    running = start([*shlex.split(tracer), *options, "-p", str(pid), "-e", SCRIPT])
    said = []
    for line in running.stdout:
        said.append(line)
        if "armed" in line:
            break
    else:
        sys.exit(f"FAIL: {tracer}: {''.join(said)}")
    hit(target, HITS)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=100)[0]
    end(target)
    found = {}
    for line in said.splitlines():
        if line.startswith('{"type": "map"'):
            found.update(json.loads(line)["data"])
        elif line.startswith('{"type": "sites"') and '"armed": 3' not in line:
            sys.exit(f"FAIL: {line}")
    if found != WANTED:
        sys.exit(f"FAIL: {tracer}\n--- expected\n{WANTED}\n--- got\n{found}\n{said}")
    print("counted by", tracer.split()[-1], *options)


if FASTSDT_TRACE:
    with_maps(FASTSDT_TRACE, ["--engine", "user", "--read-memory", "--json"])
if BPFTRACE:
    with_maps(BPFTRACE, ["-f", "json"])
    with_maps("fastsdt-trace", ["--engine", "kernel", "--json"])
if GDB:
    target, pid = begin()
    with open("probes.gdb", "w") as script:
        script.write("set pagination off\nset confirm off\nset language c\ninfo probes stap shop\n")
        for number, (name, text) in enumerate((("order", r'"order %d %s %f %d\n", $_probe_arg0, (char*)$_probe_arg1, $_probe_arg2, $_probe_arg3'),
                                               ("named", r'"named %d %s\n", $_probe_arg0, (char*)$_probe_arg1'),
                                               ("twelve", rf'"twelve %d %d\n", $_probe_arg0, $_probe_arg{int(ARGUMENTS) - 1}')), 1):
            script.write(f"break -probe-stap shop:{name}\ncommands {number}\nsilent\nprintf {text}\ncontinue\nend\n")
        script.write("continue\n")
    running = start([*shlex.split(GDB), "-q", "-nx", "-batch", "-p", str(pid), "-x", "probes.gdb"])
    enabled = ""
    while enabled != "True\n":  # gdb raises the semaphores when it sets the breakpoints, and the target answers once it goes on
        print("?", file=target.stdin, flush=True)
        enabled = target.stdout.readline()
        if not enabled or running.poll() is not None:
            sys.exit(f"FAIL: gdb: {running.communicate()[0]}")
    hit(target, 5)
    end(target)
    said = running.communicate(timeout=100)[0]
    listed = sorted(re.findall(r"^stap +shop +(\w+) ", said, re.M))
    hits = re.findall(r"^((?:order|named|twelve) .*)", said, re.M)
    wanted = [line for i in range(5) for line in (f"order {i} {'tea' if i % 3 else 'coffee'} {i / 2:f} {int(i % 2 == 0)}", f"named {-i} milk",
                                                  f"twelve {i} {i + int(ARGUMENTS) - 1}")]
    if listed != ["named", "order", "twelve"] or hits != wanted:
        sys.exit(f"FAIL: gdb\n--- expected\n{wanted}\n--- got\n{hits}\n{said}")
    print("counted by gdb")
