#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How many parameters a debugger can read at the entry of their function.

    bench/fastprobe-parameters.py OBJECT...        compiled with -g

One line per file: parameters of functions with code, by what the debug information says of them at the function's
address (as llvm-dwarfdump prints it): a location list that covers it, one that does not, one place for the whole
function, none."""
import glob
import re
import shutil
import subprocess
import sys

dwarfdump = shutil.which("llvm-dwarfdump") or max(glob.glob("/usr/lib/llvm-*/bin/llvm-dwarfdump"),
                                                  key=lambda path: int(re.search(r"\d+", path)[0]), default=None)
if not dwarfdump:
    sys.exit("bench/fastprobe-parameters.py: no llvm-dwarfdump (Debian: llvm-N)")
for path in sys.argv[1:]:
    covered = uncovered = one = nowhere = 0
    entry = depth = None  # of the function that the DIEs below belong to
    dump = subprocess.run([dwarfdump, "--debug-info", path], check=True, capture_output=True, text=True).stdout
    for die in re.split(r"\n\n(?=0x)", dump):
        head = re.match(r"0x[0-9a-f]+:(\s+)(DW_TAG_\w+)", die)
        if not head:
            continue
        indent, tag = len(head[1]), head[2]
        if tag == "DW_TAG_subprogram":
            low = (re.search(r"DW_AT_low_pc\s+\((0x[0-9a-f]+)\)", die)
                   or re.search(r"DW_AT_ranges\s+\([^\n]*\n\s+\[(0x[0-9a-f]+)", die))
            entry, depth = int(low[1], 16) if low else None, indent
        elif tag == "DW_TAG_formal_parameter" and entry is not None and indent == depth + 2:
            location = re.search(r"DW_AT_location\s+\((.*?)\)\n", die + "\n", re.S)
            ranges = re.findall(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\)", location[1]) if location else []
            if not location:
                nowhere += 1
            elif not ranges:
                one += 1
            elif any(int(begin, 16) <= entry < int(end, 16) for begin, end in ranges):
                covered += 1
            else:
                uncovered += 1
        elif entry is not None and indent <= depth:
            entry = None
    print(f"{path}: {covered} lists that cover the entry, {uncovered} that do not, {one} in one place, {nowhere} nowhere")
