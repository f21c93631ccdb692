#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sizes.py TREE: files over 800 lines, and functions over 80, of the rooms whose code people read.

clang-format (scripts.format) has the brace of a function's body alone on its line, and no other brace but a block's within one: so a body is what
is between such a line and the next brace in its column. What counts is the lines between the two. No file is exempt; one of an architecture's
encodings (engine/code/x86, engine/code/arm64) may be, where it is a long table: named here, with the reason.
"""
import os, re, sys

ROOMS = "engine", "tools", "lib", "api"
MOST_OF_FILE, MOST_OF_FUNCTION = 800, 80
EXEMPT = {}  # file: reason

found = bodies = 0
for room in ROOMS:
    for folder, _, names in sorted(os.walk(os.path.join(sys.argv[1], room))):
        for name in sorted(names):
            path = os.path.join(folder, name)
            file = os.path.relpath(path, sys.argv[1])
            if not re.search(r"\.(c|h|cpp)$", name) or file in EXEMPT:
                continue
            lines = open(path, encoding="utf-8").read().splitlines()
            if len(lines) > MOST_OF_FILE:
                found += 1
                print(f"{file}: {len(lines)} lines; {MOST_OF_FILE} at most: cut it where a reader would look for its parts")
            for begin, line in enumerate(lines):
                if line.strip() != "{":
                    continue
                column = line.index("{")
                end = next((i for i in range(begin + 1, len(lines)) if lines[i].startswith(line[:column] + "}")), None)
                if end is None:
                    sys.exit(f"{file}:{begin + 1}: a brace without an end: is it formatted?")
                bodies += 1
                if end - begin - 1 > MOST_OF_FUNCTION:
                    found += 1
                    print(f"{file}:{begin}: a function of {end - begin - 1} lines; {MOST_OF_FUNCTION} at most")
if not bodies:
    sys.exit("no function was found")
sys.exit(1 if found else 0)
