#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints what stands at each function's entry and what its ENTRY record says, for FileCheck.

    entries.py ELF [--objdump OBJDUMP]

One line per function of the symbol table, by address:

    NAME: LAYOUT lead=N patch=OFF+LEN bound=B stack=S FLAGS | insn; insn; insn; insn

or "NAME: no record | ...". Records whose address is no function's are printed as "RECORD WITHOUT FUNCTION". Names are
joined with '=' where aliases share an address. The notes and the code are read with readelf and objdump; the
descriptor is decoded here, from docs/format.md, and not with the project's reader, which is a party to the case.
"""
import argparse
import re
import subprocess

LAYOUTS = {0: "other", 1: "nop", 2: "nop1+nop4", 3: "nop5", 4: "nop1+nop5", 5: "nop10", 6: "nop1+nop10", 16: "push",
           17: "stp"}
FLAGS = {1: "returns-twice", 2: "added", 4: "missed"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def records(path):
    """{function address: [text, ...]}"""
    found = {}
    text = run("readelf", "-nW", path)
    for kind, data in re.findall(r"^\s*fastsdt\s+\S+\s+Unknown note type: \((0x\w+)\)\s+description data: ([0-9a-f ]+)",
                                 text, re.M):
        if int(kind, 16) != 0x45:
            continue
        d = bytes.fromhex(data)
        assert d[0] == 1 and len(d) == 24, d
        flags = int.from_bytes(d[6:8], "little")
        stack = int.from_bytes(d[16:24], "little")
        words = [LAYOUTS[d[1]], f"lead={d[5]}", f"patch={d[2]}+{d[3]}", f"bound={d[4]}",
                 "stack=" + ("unknown" if stack == 2**64 - 1 else str(stack))]
        words += [name for bit, name in FLAGS.items() if flags & bit]
        found.setdefault(int.from_bytes(d[8:16], "little"), []).append(" ".join(words))
    return found


def functions(path):
    """{address: [name, ...]}"""
    found = {}
    for line in run("readelf", "-sW", path).splitlines():
        m = re.match(r"\s*\d+: ([0-9a-f]+)\s+\S+ (?:FUNC|IFUNC|LOCAL|GLOBAL|WEAK)\s+(\w+)\s+\w+\s+(\S+) (\S+)", line)
        if m and m[3] != "UND" and " FUNC " in line or m and " IFUNC " in line:
            names = found.setdefault(int(m[1], 16), [])
            if m[4] not in names:
                names.append(m[4])
    return found


def code(path, objdump):
    """{address: [next instruction texts]} for every instruction."""
    at = []
    for line in run(objdump, "-d", "--no-show-raw-insn", "-w", path).splitlines():
        m = re.match(r"\s*([0-9a-f]+):\t(.*)", line)
        if m:
            insn = re.sub(r"\s+", " ", re.sub(r"\s*[#/]{1,2} .*", "", m[2])).strip()
            at.append((int(m[1], 16), insn))
    return {address: [i for _, i in at[n:n + 6]] for n, (address, _) in enumerate(at)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elf")
    parser.add_argument("--objdump", default="objdump")
    path, objdump = vars(parser.parse_args()).values()
    noted, named, insns = records(path), functions(path), code(path, objdump)
    for address in sorted(set(noted) | set(named)):
        names = "=".join(sorted(named.get(address, ["RECORD WITHOUT FUNCTION"])))
        for record in noted.get(address, ["no record"]):
            print(f"{names}: {record} | {'; '.join(insns.get(address, ['no code']))}")


if __name__ == "__main__":
    main()
