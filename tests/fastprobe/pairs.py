#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program under this kernel's uprobes at all of its recorded entries and exits, and compares the hits.

    pairs.py [--trace] [--left NAME=COUNT]... [--jumps] ELF -- COMMAND...

ELF         has ENTRY and EXIT records; functions without exits (never return, return twice) are left out
--left      that many activations of the function may end in no exit (longjmp, exceptions, exit())
--jumps     any number may, of every function: COMMAND uses longjmp(). The number is printed
--trace     keep every hit in order, and pair each exit with the entry of the same stack pointer: prints how many activations
            were left behind by a later event further up, and how many were alive at the end. For short programs

The kernel counts (uprobe_profile of tracefs), none of our programs; the records are decoded by entries.py. Needs root.
Exit status: 0 if hits of entries = hits of exits + COUNT in every function; 1 if not, and the functions are listed; COMMAND's own
if that is not 0 and nothing else is wrong. Its output goes to stderr.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import entries

TRACING = "/sys/kernel/tracing"


def write(path, *texts, flags=os.O_TRUNC):
    """One write() for each text: longer ones are cut at 4 KiB."""
    fd = os.open(f"{TRACING}/{path}", os.O_WRONLY | flags)
    try:
        for text in texts:
            os.write(fd, text.encode())
    finally:
        os.close(fd)


def places(path):
    """[(file offset, function name, "entry" or "exit")], from readelf."""
    loads = [tuple(int(x, 16) for x in m) for m in re.findall(
        r"^\s*LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R?\s?W?\s?E", entries.run("readelf", "-lW", path), re.M)]

    def offset(address):
        return next(o + address - v for o, v, size in loads if v <= address < v + size)

    noted, exits, _ = entries.records(path)
    named, _ = entries.functions(path)
    found = []
    for address, texts in noted.items():
        if " exits" not in texts[0]:
            continue
        name = named.get(address, ["%#x" % address])[0]
        lead = int(re.search(r"lead=(\d+)", texts[0])[1])
        found.append((offset(address + lead), name, "entry"))
        found += [(offset(at), name, "exit") for at, function, *_ in exits if function == address]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--left", action="append", default=[])
    parser.add_argument("--jumps", action="store_true")
    parser.add_argument("elf")
    own, command = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
    options = parser.parse_args(own)
    left = {name: int(count) for name, count in (text.split("=") for text in options.left)}
    elf = os.path.realpath(options.elf)
    found = places(elf)
    group = f"pairs_{os.getpid()}"
    instance = f"instances/{group}"
    os.mkdir(f"{TRACING}/{instance}")
    hits = collections.Counter()
    events = []
    try:
        write(f"{instance}/tracing_on", "1" if options.trace else "0")
        if options.trace:
            write(f"{instance}/buffer_size_kb", "65536")
        write("uprobe_events", *(f"p:{group}/{kind}{number} {elf}:{offset:#x} sp=%sp:x64\n"
                                 for number, (offset, _, kind) in enumerate(found)), flags=os.O_APPEND)
        write(f"{instance}/events/{group}/enable", "1")
        status = subprocess.run(command, stdout=sys.stderr).returncode
        write(f"{instance}/events/{group}/enable", "0")
        for line in open(f"{TRACING}/uprobe_profile"):
            words = line.split()
            m = re.fullmatch(r"(?:entry|exit)(\d+)", words[1])
            if elf == words[0] and m:
                assert words[3] == "0" if len(words) > 3 else True, f"missed hits: {line}"
                hits[found[int(m[1])][1:]] += int(words[2])
        if options.trace:
            for line in open(f"{TRACING}/{instance}/trace"):
                m = re.match(r"\s*\S+-(\d+)\s.*: (entry|exit)(\d+): .*sp=(0x\w+)", line)
                if m:
                    events.append((int(m[1]), m[2], found[int(m[3])][1], int(m[4], 16)))
    finally:
        try:
            write(f"{instance}/events/{group}/enable", "0")
        except OSError:
            pass
        os.rmdir(f"{TRACING}/{instance}")
        for line in open(f"{TRACING}/uprobe_events").read().splitlines():
            m = re.match(rf"p:({group}/\S+) ", line)
            if m:
                write("uprobe_events", f"-:{m[1]}\n", flags=os.O_APPEND)

    names = {name for _, name, _ in found}
    over = {name: hits[name, "entry"] - hits[name, "exit"] - left.get(name, 0) for name in sorted(names)}
    wrong = [name for name in over if over[name] < 0 or over[name] > 0 and not options.jumps]
    total = {kind: sum(hits[name, kind] for name in names) for kind in ("entry", "exit")}
    print(f"{len(names)} functions, {sum(hits[n, 'entry'] > 0 for n in names)} called: "
          f"{total['entry']} entries, {total['exit']} exits" + (f", {sum(over.values())} left by jumps" if options.jumps else ""))
    for name in wrong:
        print(f"  {name}: {hits[name, 'entry']} entries, {hits[name, 'exit']} exits, {left.get(name, 0)} expected to be left")

    if options.trace:
        assert len(events) == sum(hits.values()), f"{len(events)} events of {sum(hits.values())} in the buffer"
        stacks = collections.defaultdict(list)
        gone, paired = collections.Counter(), 0
        for task, kind, name, sp in events:
            stack = stacks[task]
            # Deeper activations than this event are over; at an entry also one at the same depth (a tail call keeps the
            # depth).
            while stack and (stack[-1][1] < sp or kind == "entry" and stack[-1][1] == sp):
                gone[stack.pop()[0]] += 1
            if kind == "entry":
                stack.append((name, sp))
            elif stack and stack[-1] == (name, sp):
                stack.pop()
                paired += 1
            else:
                wrong.append(f"exit of {name} at {sp:#x} without its entry")
                print(wrong[-1])
        alive = collections.Counter(name for stack in stacks.values() for name, _ in stack)
        print(f"{paired} pairs; left behind: {dict(sorted(gone.items()))}; alive at the end: {dict(sorted(alive.items()))}")
    sys.exit(1 if wrong else status)


if __name__ == "__main__":
    main()
