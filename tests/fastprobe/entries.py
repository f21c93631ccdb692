#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints what stands at each function's entry and exits, and what their ENTRY and EXIT records say, for FileCheck.

    entries.py ELF [--objdump OBJDUMP] [--check-exits]

One line per function of the symbol table, by address:

    NAME: LAYOUT lead=N patch=OFF+LEN bound=B stack=S FLAGS | insn; insn; insn; insn

or "NAME: no record | ...", and behind it one line for each exit:

    NAME exit: LAYOUT patch=OFF+LEN bound=B return|tail-call RESULT[:SIZE] FLAGS [in NAME2] at=ADDRESS | insn; insn; insn; insn

NAME2 is the symbol that the exit stands in, if it is another one (NAME.cold). Records whose address is no function's are
printed as "RECORD WITHOUT FUNCTION" and "EXIT WITHOUT ENTRY". Names are joined with '=' where aliases share an address. The notes and the code are read with readelf and objdump; the
descriptor is decoded here, from docs/format.md, and not with the project's reader, which is a party to the case.

--check-exits prints a count instead. It fails unless the functions that say so have a record at each exit: every return and
every direct jump out of the function and its .cold part has to come right behind a site, every site has to stand before a
return or a jump, and no patchable byte may cross the boundary that its record promises.
"""
import argparse
import bisect
import re
import subprocess

LAYOUTS = {0: "other", 1: "nop", 2: "nop1+nop4", 3: "nop5", 4: "nop1+nop5", 5: "nop10", 6: "nop1+nop10", 16: "push",
           17: "stp"}
FLAGS = {1: "returns-twice", 2: "added", 4: "missed", 8: "exits"}
RESULTS = {0: "other", 1: "none", 2: "register", 3: "pair", 4: "vector", 5: "memory"}
EXIT_FLAGS = {2: "signed", 4: "unsigned"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def records(path):
    """{function address: [text, ...]}, [(address, function address, text, bound, address and number of patchable bytes), ...]"""
    found, exits = {}, []
    text = run("readelf", "-nW", path)
    for kind, data in re.findall(r"^\s*fastsdt\s+\S+\s+Unknown note type: \((0x\w+)\)\s+description data: ([0-9a-f ]+)",
                                 text, re.M):
        d = bytes.fromhex(data)
        flags = int.from_bytes(d[6:8], "little")
        if int(kind, 16) == 0x58:
            assert d[0] == 1 and len(d) == 24 and not flags & 0xf8, d
            size = flags >> 8
            words = [LAYOUTS[d[1]], f"patch={d[2]}+{d[3]}", f"bound={d[4]}", "tail-call" if flags & 1 else "return",
                     RESULTS[d[5]] + (f":{size}" if size else "")]
            words += [name for bit, name in EXIT_FLAGS.items() if flags & bit]
            at = int.from_bytes(d[8:16], "little")
            exits.append((at, int.from_bytes(d[16:24], "little"), " ".join(words), d[4], at + d[2], d[3]))
        if int(kind, 16) != 0x45:
            continue
        assert d[0] == 1 and len(d) == 24, d
        stack = int.from_bytes(d[16:24], "little")
        words = [LAYOUTS[d[1]], f"lead={d[5]}", f"patch={d[2]}+{d[3]}", f"bound={d[4]}",
                 "stack=" + ("unknown" if stack == 2**64 - 1 else str(stack))]
        words += [name for bit, name in FLAGS.items() if flags & bit]
        found.setdefault(int.from_bytes(d[8:16], "little"), []).append(" ".join(words))
    return found, sorted(set(exits))


def functions(path):
    """{address: [name, ...]}, {address: size}"""
    found, sizes = {}, {}
    for line in run("readelf", "-sW", path).splitlines():
        m = re.match(r"\s*\d+: ([0-9a-f]+)\s+(\S+) (?:FUNC|IFUNC|LOCAL|GLOBAL|WEAK)\s+(\w+)\s+\w+\s+(\S+) (\S+)", line)
        if m and m[4] != "UND" and " FUNC " in line or m and " IFUNC " in line:
            names = found.setdefault(int(m[1], 16), [])
            sizes[int(m[1], 16)] = max(int(m[2], 0), sizes.get(int(m[1], 16), 0))
            if m[5] not in names:
                names.append(m[5])
    return found, sizes


def code(path, objdump):
    """{address: [next instruction texts]} for every instruction."""
    at = []
    for line in run(objdump, "-d", "--no-show-raw-insn", "-w", path).splitlines():
        m = re.match(r"\s*([0-9a-f]+):\t(.*)", line)
        if m:
            insn = re.sub(r"\s+", " ", re.sub(r"\s*[#/]{1,2} .*", "", m[2])).strip()
            at.append((int(m[1], 16), insn))
    return {address: [i for _, i in at[n:n + 6]] for n, (address, _) in enumerate(at)}


RETURN = re.compile(r"(repz |bnd |notrack )*(ret|retaa|retab)\b")
JUMP = re.compile(r"(?:bnd )?(?:j\w+|b|b\.\w+|cbn?z \w+,|tbn?z \w+, #\d+,) ([0-9a-f]+) <([^>]*)>")
INDIRECT = re.compile(r"(bnd |notrack )*(jmp \*|br x)")


def check_exits(noted, exits, named, sizes, insns):
    """The number of exits and of functions that have them."""
    assert exits, "no exits"
    parts = {}  # function -> [(begin, end)] of it and its .cold part
    starts = {name: address for address, names in named.items() for name in names}
    for address in noted:
        parts[address] = [(address, address + sizes.get(address, 0))]
        for name in named.get(address, []):
            if name + ".cold" in starts:
                cold = starts[name + ".cold"]
                parts[address].append((cold, cold + sizes[cold]))
    sites = {}
    for at, function, text, bound, patch, length in exits:
        assert "exits" in " ".join(noted.get(function, [])), f"{at:#x}: exit of {function:#x}, whose entry knows of none"
        assert not bound or patch >> bound == (patch + length - 1) >> bound, f"{at:#x}: crosses"
        assert any(b <= at < e for b, e in parts[function]), f"{at:#x}: not in its function {function:#x}"
        layout = text.split()[0]
        behind = insns[at][2 if layout == "nop1+nop10" else 1]
        assert insns[at][0] == "nop", (hex(at), insns[at])
        assert layout == "nop" or insns[at][1].startswith("cs nopw 0x0(%rax,%rax,1)"), (hex(at), insns[at])
        assert RETURN.match(behind) or JUMP.match(behind) or INDIRECT.match(behind), (hex(at), insns[at])
        # A return thunk (-mfunction-return) is jumped to.
        assert ("tail-call" in text) != bool(RETURN.match(behind) or "return_thunk" in behind), (hex(at), text, insns[at])
        sites[at + {"nop1+nop10": 11}.get(layout, length)] = function
    missing = []
    addresses = sorted(insns)
    for function, texts in noted.items():
        if "exits" not in " ".join(texts):
            continue
        for begin, end in parts[function]:
            for at in addresses[bisect.bisect_left(addresses, begin):bisect.bisect_left(addresses, end)]:
                jump = JUMP.match(insns[at][0])
                # To the function's end, where nothing is any more: clang -O0, code that is never reached.
                inside = jump and (any(b <= int(jump[1], 16) < e for b, e in parts[function])
                                   or any(jump[2].startswith(name + "+") for name in named.get(function, [])))
                leaves = jump and not inside
                if (RETURN.match(insns[at][0]) or leaves) and sites.get(at) != function:
                    missing.append(f"{named.get(function)}: {at:x}: {insns[at][0]}")
    assert not missing, f"{len(missing)} exits without a site: {missing[:10]}"
    return len(exits), sum("exits" in " ".join(texts) for texts in noted.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elf")
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--check-exits", action="store_true")
    path, objdump, check = vars(parser.parse_args()).values()
    (noted, exits), (named, sizes), insns = records(path), functions(path), code(path, objdump)
    if check:
        print("%d exits of %d functions" % check_exits(noted, exits, named, sizes, insns))
        return
    places = sorted(named)
    for address in sorted(set(noted) | set(named)):
        names = "=".join(sorted(named.get(address, ["RECORD WITHOUT FUNCTION"])))
        for record in noted.get(address, ["no record"]):
            print(f"{names}: {record} | {'; '.join(insns.get(address, ['no code']))}")
        for at, function, text, *_ in exits:
            if function != address:
                continue
            inside = places[bisect.bisect_right(places, at) - 1]
            other = "" if inside == address else " in " + "=".join(sorted(named[inside]))
            print(f"{names} exit: {text}{other} at={at:#x} | {'; '.join(insns.get(at, ['no code']))}")
    for at, function, text, *_ in exits:
        if function not in noted:
            print(f"EXIT WITHOUT ENTRY: {text} at {at:#x}")


if __name__ == "__main__":
    main()
