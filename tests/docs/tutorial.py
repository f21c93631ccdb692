#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tutorial.py FILE: does what docs/tutorial.md says, in this folder, and compares what is printed. Times, and what they sort, may differ."""
import os, re, signal, socket, subprocess, sys

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
lines = open(sys.argv[1]).read().replace("7777", port).split("\n")
blocks = []  # (info, text)
at = 0
while at < len(lines):
    if lines[at].startswith("```"):
        end = lines.index("```", at + 1)
        blocks.append((lines[at][3:], "\n".join(lines[at + 1:end]) + "\n"))
        at = end
    at += 1

def shell(command):
    result = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.stdout

def table(text):  # calls and functions, in whatever order
    return sorted((l.split()[0], l.split()[-1]) for l in text.split("\n") if re.match(r" +\d+ ", l))

def histogram(text):  # how many were counted, and how many took a millisecond or more
    rows = [(low, int(count)) for low, count in re.findall(r"^\[(\w+), \w+\) +(\d+) ", text, re.M)]
    return sum(count for _, count in rows), sum(count for low, count in rows if low[-1] in "MG")

def rest(text):  # the lines that are the same with every build of the server
    lines = [re.sub(r"\d+ of \d+ armed|left out \d+|average \d+, total \d+", "N", l) for l in text.split("\n")]
    return [l for l in lines if l and l[0] not in "[ " and not l.startswith("fastsdt-trace: ")]

def first_byte(pid, function):
    """Of a function of the process, as it is now."""
    path = os.readlink(f"/proc/{pid}/exe")
    offset = int(re.search(rf"^(\w+) T {function}$", shell(f"nm -D --defined-only {path}"), re.M).group(1), 16)
    with open(f"/proc/{pid}/maps") as maps:
        base = int(next(l for l in maps if l.endswith(f" {path}\n")).split("-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(base + offset)
        return memory.read(1)

problems = []
def compare(what, shown, printed):
    if shown != printed:
        problems.append(f"{what}\n--- shown\n{shown}\n--- printed\n{printed}")

tracer = None
for info, text in blocks:
    if info.startswith("sh "):
        open(info.split()[1], "w").write(text)
    elif text.startswith("$ fastsdt-trace"):
        command = text[2:-1]
        pid = int(open("redis.pid").read())
        function = next(f for f in ("lrangeCommand", "addListRangeReply", "processCommand") if f in command.replace("'*Command'", "processCommand"))
        before = first_byte(pid, function)
        tracer = subprocess.Popen(["bash", "-c", "exec " + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while first_byte(pid, function) == before:
            if tracer.poll() is not None:
                sys.exit(f"{command}: {tracer.stdout.read()}")
        shell("sh load.sh")  # in the other terminal
        tracer.send_signal(signal.SIGINT)
        printed = tracer.communicate()[0]
        if tracer.returncode != 0:
            sys.exit(f"{command}: status {tracer.returncode}: {printed}")
    elif text.startswith("$ "):
        for part in text.removeprefix("$ ").split("\n$ "):
            command, _, shown = part.partition("\n")
            printed = shell(command)
            if command.startswith("redis-server"):  # says what it warns of
                printed = ""
            compare(command, shown.rstrip("\n"), printed.rstrip("\n"))
    else:
        compare("the table", table(text), table(printed))
        (all_shown, slow_shown), (all_printed, slow_printed) = histogram(text), histogram(printed)
        compare("the histogram", all_shown, all_printed)
        if slow_printed < slow_shown:  # a busy machine may have more
            problems.append(f"{slow_printed} slow calls, and {slow_shown} are shown")
        compare("other lines", rest(text), rest(printed))
sys.exit("\n".join(problems) or 0)
