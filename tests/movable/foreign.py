#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""foreign.py FILE WINDOWS: compares what movable_dump --addresses says of FILE with what objdump -d does. Exit status 1: they differ.
OBJDUMP names another objdump."""
import bisect
import os
import re
import subprocess
import sys

with open(sys.argv[1], "rb") as file:
    arm64 = file.read(20)[18:] == b"\xb7\0"
call = r"bl" if arm64 else r"(?:bnd |notrack |data16 |rex\.W )*call"
jumps = r"(?:bl?|b\.\w+|cbn?z|tbn?z)\s+(?:[^<]*, )?" if arm64 else r"(?:bnd |notrack |data16 |rex\.W )*(?:j\w+|call\w*|loop\w*|xbegin)\s+"
exits = r"(ret|retaa|retab|b|br)(\s|$)" if arm64 else r"(repz |notrack )*(ret|jmp)"
stays = r"(bti|svc|hvc|smc|brk|hlt|udf|wf[ei]|blr|braa|ldx|ldax|stx|stlx|casp|clrex|\.inst|\.word)" if arm64 else r"(syscall|int|loop|xbegin|endbr64)"
instructions, targets, loops = {}, set(), []
listing = subprocess.run([os.environ.get("OBJDUMP", "objdump"), "-d", "--no-show-raw-insn", sys.argv[1]], capture_output=True, text=True,
                         check=True).stdout
for line in listing.split("\n"):
    found = re.match(r"\s+([0-9a-f]+):\t(.*)", line)
    if not found:
        continue
    address, text = int(found[1], 16), found[2]
    instructions[address] = text
    jump = re.match(jumps + r"([0-9a-f]+) <", text)
    if jump:
        targets.add(int(jump[1], 16))
        if not re.match(call, text):
            loops.append((address, int(jump[1], 16)))
    reference = re.search(r"\(%rip\).*# ([0-9a-f]+) <", text)
    if reference:
        targets.add(int(reference[1], 16))

# A call's return address is one, too.
order = sorted(instructions)
for here, behind in zip(order, order[1:]):
    if re.match(call, instructions[here]):
        targets.add(behind)

problems, windows, entries, movable, entered = [], 0, 0, 0, set()
for line in open(sys.argv[2], encoding="utf-8"):
    what, name, rest = re.match(r"(\w+) (.*?): (.*)", line).groups()
    window = re.match(r"0x([0-9a-f]+)\+(\d+)(?: at (\d+))?", rest)
    if what == "entry" and "chooses a function" not in rest:
        entries += 1
        movable += bool(window)
    if not window:
        continue
    windows += 1
    start, length, at = int(window[1], 16), int(window[2]), int(window[3] or 0)
    if what == "entry":
        entered.add(start)
    for place in (start,) if arm64 else (start, start + length): # a word ends where zeros begin, perhaps
        if place not in instructions:
            problems.append(f"{place:#x} is not where an instruction begins: {line.strip()}")
    for place in range(start + 1, start + length):
        if place in targets:
            problems.append(f"{place:#x} is a target: {line.strip()}")
        if re.match(stays, instructions.get(place, "")) and place < start + length:
            problems.append(f"{place:#x} has to stay: {line.strip()}")
    if (length != 4) if arm64 else (start % 4096 > 4091 or not 5 <= length <= 32):
        problems.append(f"length or place: {line.strip()}")
    if what == "exit" and not re.match(exits, instructions.get(start + at, "")):
        problems.append(f"{start + at:#x} is no exit: {line.strip()}")
# A jump from a function's own instructions to where it was entered would count again.
frames = subprocess.run(["readelf", "--debug-dump=frames", sys.argv[1]], capture_output=True, text=True, check=False).stdout
ranges = sorted((int(r[1], 16), int(r[2], 16)) for r in re.finditer(r" pc=([0-9a-f]+)\.\.([0-9a-f]+)", frames))
for here, to in loops:
    begin, end = ranges[max(0, bisect.bisect_right(ranges, (here, 2**64)) - 1)]
    if begin <= here < end and begin <= to < end and to in entered:
        problems.append(f"{here:#x} leads to {to:#x}, which is an entry")
share = 100 * movable / max(1, entries)
print(f"{sys.argv[1]}: {windows} windows, {len(problems)} wrong; {entries} entries, {share:.2f} % can be moved")
print("\n".join(problems[:20]))
sys.exit(1 if problems or entries < 1000 or share < 97 else 0)
