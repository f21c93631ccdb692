#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which parameters can be read where a probe on the function's entry fires, by the debug information.

    parameters.py DWARFDUMP ELF

Prints "FUNCTION PARAMETER yes|no" for each parameter of each function: yes, if its location holds at the entry, which is
the address of the function's ENTRY record plus lead, or without a record the first instruction. The location lists are read from
llvm-dwarfdump's text.
"""
import re
import subprocess
import sys

sys.path.insert(0, sys.argv[0].rsplit("/", 2)[0])
import entries  # noqa: E402

dwarfdump, path = sys.argv[1:3]
leads = {address: int(re.search(r"lead=(\d+)", text[0])[1]) for address, text in entries.records(path).items()}
text = subprocess.run([dwarfdump, "--debug-info", path], check=True, capture_output=True, text=True).stdout

function = low = None
for block in re.split(r"\n\n", text):
    head = re.match(r"0x[0-9a-f]+:(\s+)(DW_TAG_\w+)", block)
    if not head:
        continue
    tag, depth = head[2], len(head[1])
    if tag == "DW_TAG_subprogram":
        at = re.search(r"DW_AT_low_pc\s+\((0x[0-9a-f]+)\)", block)
        name = re.search(r'DW_AT_(?:name|abstract_origin|specification)\s+\(.*?"([^"]*)"', block)
        function, low, level = (name[1], int(at[1], 16), depth) if at and name else (None, None, 0)
    elif function and depth <= level:
        function = None
    elif tag == "DW_TAG_formal_parameter" and function and depth == level + 2:
        name = re.search(r'DW_AT_(?:name|abstract_origin)\s+\(.*?"([^"]*)"', block)
        if not name:
            continue
        entry = low + leads.get(low, 0)
        ranges = re.findall(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\):", block)
        if ranges:
            readable = any(int(a, 16) <= entry < int(b, 16) for a, b in ranges)
        else:
            readable = "DW_AT_location" in block or "DW_AT_const_value" in block
        print(function, name[1], "yes" if readable else "no")
