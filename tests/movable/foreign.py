#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""foreign.py FILE WINDOWS: compares what movable_dump --addresses says of FILE with what objdump -d does. Exit status 1: they differ."""
import re
import subprocess
import sys

instructions, targets = {}, set()
listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", sys.argv[1]], capture_output=True, text=True, check=True).stdout
for line in listing.split("\n"):
    found = re.match(r"\s+([0-9a-f]+):\t(.*)", line)
    if not found:
        continue
    address, text = int(found[1], 16), found[2]
    instructions[address] = text
    jump = re.match(r"(?:bnd |notrack |data16 |rex\.W )*(?:j\w+|call\w*|loop\w*|xbegin)\s+([0-9a-f]+) <", text)
    if jump:
        targets.add(int(jump[1], 16))
    reference = re.search(r"\(%rip\).*# ([0-9a-f]+) <", text)
    if reference:
        targets.add(int(reference[1], 16))

# A call's return address is one, too.
order = sorted(instructions)
for here, behind in zip(order, order[1:]):
    if re.match(r"(?:bnd |notrack |data16 |rex\.W )*call", instructions[here]):
        targets.add(behind)

problems, windows, entries, movable, with_exits, all_exits = [], 0, 0, 0, set(), {}
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
    for place in (start, start + length):
        if place not in instructions:
            problems.append(f"{place:#x} is not where an instruction begins: {line.strip()}")
    for place in range(start + 1, start + length):
        if place in targets:
            problems.append(f"{place:#x} is a target: {line.strip()}")
    if start % 4096 > 4091 or not 5 <= length <= 32:
        problems.append(f"length or place: {line.strip()}")
    if what == "exit" and not re.match(r"(repz |notrack )*(ret|jmp)", instructions.get(start + at, "")):
        problems.append(f"{start + at:#x} is no exit: {line.strip()}")
share = 100 * movable / max(1, entries)
print(f"{sys.argv[1]}: {windows} windows, {len(problems)} wrong; {entries} entries, {share:.2f} % can be moved")
print("\n".join(problems[:20]))
sys.exit(1 if problems or entries < 1000 or share < 97 else 0)
