#!/bin/bash
# Functions of the installed python3, which was built without fastsdt: fastsdt-trace and bpftrace count the same in the same process,
# one after the other. The process runs a copy of the file: bpftrace 0.17 takes -p, and counts every process of a file all the same.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need bpftrace /usr/bin/python3
[ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] || skip "bpftrace needs root and uprobes"
need_attachable
cp "$(readlink -f /usr/bin/python3)" python3.copy
cat >work.py <<'END'
import json, sys
for line in sys.stdin:
    for i in range(10):
        a = [{str(j): [j] * 3} for j in range(100)]
        s = json.dumps(a)
        json.loads(s), sorted(a, key=str), s.split(","), tuple(a), set(map(str, a)), "x".join(map(repr, a))
    print("did", flush=True)
END
cat >compare.py <<'END'
import os, re, signal, subprocess, sys
python = os.path.realpath("python3.copy")
kinds = ["Bytes", "Dict", "Err", "Iter", "List", "Long", "Object", "Tuple", "Unicode"]
script = "".join(f"uprobe:{python}:Py{kind}_* {{ @[probe] = count(); }} " for kind in kinds)
script += 'interval:ms:200 { printf("armed\\n"); }'  # bpftrace attaches in this order
program = subprocess.Popen([python, "-S", "-E", "work.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONHASHSEED": "0", "PYTHONHOME": "/usr"})
reports = []
def work():
    program.stdin.write("\n")
    program.stdin.flush()
    assert program.stdout.readline() == "did\n"
    while not open(f"/proc/{program.pid}/syscall").read().startswith("0 0x0 "):  # it reads standard input again
        pass
def counts(*command):
    tracer = subprocess.Popen([*command, "-e", script, "-p", str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    for line in tracer.stdout:
        said += line
        if line == "armed\n":
            break
    else:
        sys.exit(f"{command[0]} ended: {said}")
    work()
    tracer.send_signal(signal.SIGINT)
    report = tracer.communicate()[0]
    if " only since " in report:  # on a busy machine some were armed after the first 200 ms: once more
        return counts(*command)
    reports.append(report)
    return {name: int(count) for name, count in re.findall(r"^@\[uprobe:[^:]*:(\w+)\]: (\d+)$", report, re.M)}
work()
work()  # what it makes once is made
moved, kernel = counts("fastsdt-trace", "--engine", "user"), counts("bpftrace")
program.kill()
print(f"{len(moved)} functions, {sum(moved.values())} calls")
different = [(name, moved.get(name), kernel.get(name)) for name in {*moved, *kernel} if moved.get(name) != kernel.get(name)]
if different or len(moved) < 40:
    sys.exit(f"function, fastsdt-trace, bpftrace: {different}\n{reports[0][-400:]}")
END
python3 compare.py >out 2>&1 || fail "$(cat out)"
cat out
