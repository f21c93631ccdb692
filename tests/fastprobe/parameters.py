#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which parameters can be read where a probe on the function's entry fires, by the debug information.

    parameters.py [--count] [--dwarfdump LLVM-DWARFDUMP] ELF...

Prints "FUNCTION PARAMETER WORD" for each parameter of each function that has code; --count prints how many there are of each word:

  covered    its location list holds at the entry, which is the address of the function's ENTRY record plus lead, or without a record the
             first instruction
  uncovered  its location list does not hold there
  one-place  one location for the whole function, or a constant
  nowhere    no location at all

Objects that are not linked have no addresses in their records: there the entry is the function's first instruction. The lists are read
from llvm-dwarfdump's text.
"""
import argparse
import collections
import glob
import re
import shutil

import entries


def newest_dwarfdump():
    paths = glob.glob("/usr/lib/llvm-*/bin/llvm-dwarfdump")
    return shutil.which("llvm-dwarfdump") or max(paths, key=lambda path: int(re.search(r"\d+", path)[0]), default=None)


def word_of(die, entry):
    location = re.search(r"DW_AT_location\s+\((.*?)\)\n", die + "\n", re.S)
    if not location:
        return "one-place" if "DW_AT_const_value" in die else "nowhere"
    ranges = re.findall(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\)", location[1])
    if not ranges:
        return "one-place"
    return "covered" if any(int(begin, 16) <= entry < int(end, 16) for begin, end in ranges) else "uncovered"


def parameters(dwarfdump, path):
    """(function, parameter, word) for each."""
    leads = {address: int(re.search(r"lead=(\d+)", text[0])[1]) for address, text in entries.records(path)[0].items()}
    text = entries.run(dwarfdump, "--debug-info", path)
    entry = function = level = None
    for die in re.split(r"\n\n(?=0x)", text):
        head = re.match(r"0x[0-9a-f]+:(\s+)(DW_TAG_\w+)", die)
        if not head:
            continue
        depth, tag = len(head[1]), head[2]
        name = re.search(r'DW_AT_(?:name|abstract_origin|specification)\s+\(.*?"([^"]*)"', die)
        if tag == "DW_TAG_subprogram":
            low = (re.search(r"DW_AT_low_pc\s+\((0x[0-9a-f]+)\)", die)
                   or re.search(r"DW_AT_ranges\s+\([^\n]*\n\s+\[(0x[0-9a-f]+)", die))
            entry, level = None, depth
            if low:
                entry, function = int(low[1], 16), name[1] if name else "?"
                entry += leads.get(entry, 0)
        elif entry is not None and depth <= level:
            entry = None
        elif tag == "DW_TAG_formal_parameter" and entry is not None and depth == level + 2:
            yield function, name[1] if name else "?", word_of(die, entry)


def main():
    parser = argparse.ArgumentParser(usage="parameters.py [--count] [--dwarfdump LLVM-DWARFDUMP] ELF...")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--dwarfdump", default=newest_dwarfdump())
    parser.add_argument("elf", nargs="+")
    arguments = parser.parse_args()
    if not arguments.dwarfdump:
        parser.error("no llvm-dwarfdump (Debian: llvm-N)")
    for path in arguments.elf:
        found = list(parameters(arguments.dwarfdump, path))
        if arguments.count:
            count = collections.Counter(word for _, _, word in found)
            print(f"{path}: " + ", ".join(f"{count[word]} {word}" for word in ("covered", "uncovered", "one-place", "nowhere")))
        else:
            for row in found:
                print(*row)


if __name__ == "__main__":
    main()
