#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""floors.py SOURCE: every #include "..." of a floor leads to the same floor or to one below, as docs/architecture.md draws them.
Prints what does not, a line each; exit status 1 then, 2 if the drawing and the folders do not agree."""
import os
import re
import sys

os.chdir(sys.argv[1])
drawing = open("docs/architecture.md").read().split("## The house", 1)[1].split("\n    ", 1)[1].split("\n\n", 1)[0]
floors, house = [], ""
for line in ("    " + drawing).split("\n"):
    house = line[4:16].strip() or house
    room = re.match(r"(\w+)  ", line[16:]) if house in ("engine", "lib") else None
    floors.append(f"{house}/{room.group(1)}" if room else house)
floors.reverse()  # from the ground up
rooted = {"lib", "engine"}  # their headers are included with the room


def floor_of(path):
    parts = path.split("/")
    name = "/".join(parts[:2]) if parts[0] in rooted and len(parts) > 2 else parts[0]
    if parts[0] == "engine" and len(parts) == 2:
        name = "engine/session"
    return floors.index(name) if name in floors else None


files, problems = [], []
for house in sorted({floor.split("/")[0] for floor in floors}):
    for folder, folders, names in os.walk(house):
        folders.sort()
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith((".h", ".cpp"))]
for path in files:
    floor = floor_of(path)
    if floor is None:
        print(f"{path} is on no floor of docs/architecture.md")
        sys.exit(2)
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        name = re.match(r'#include "([^"]+)"', line)
        if not name:
            continue
        here = os.path.dirname(path)
        roots = [here] + [root for root in ("lib", "engine", "uprobes", "linker", "include") if root != here]
        found = next((os.path.join(root, name.group(1)) for root in roots if os.path.exists(os.path.join(root, name.group(1)))), None)
        if found is None:
            problems.append(f'{path}:{number}: no floor has "{name.group(1)}"')
        elif found in files and floor_of(found) > floor:
            problems.append(f"{path}:{number}: {floors[floor]} includes {found}, which is above it")
for floor in floors:
    folder = floor if floor != "engine/session" else "engine"
    if not any(floor_of(path) == floors.index(floor) for path in files):
        print(f"docs/architecture.md draws {folder}, which has no source")
        sys.exit(2)
print("\n".join(problems) if problems else f"{len(files)} files on {len(floors)} floors")
sys.exit(1 if problems else 0)
