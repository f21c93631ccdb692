#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints what stands at each function's entry and exits, and what their ENTRY and EXIT records say, for FileCheck.

    entries.py ELF [--objdump OBJDUMP] [--check [--entry MODE]] [--check-exits]

One line per function of the symbol table, by address:

    NAME: LAYOUT lead=N patch=OFF+LEN bound=B stack=S FLAGS | insn; insn; insn; insn

or "NAME: no record | ...", and behind it one line for each exit:

    NAME exit: LAYOUT patch=OFF+LEN bound=B return|tail-call RESULT[:SIZE] FLAGS [in NAME2] at=ADDRESS | insn; insn; insn; insn

NAME2 is the symbol that the exit stands in, if it is another one (NAME.cold). Records whose address is no function's are
printed as "RECORD WITHOUT FUNCTION" and "EXIT WITHOUT ENTRY". Names are joined with '=' where aliases share an address. The notes and the code are read with readelf and objdump; the
descriptor is decoded here, from docs/format.md, and not with the project's reader, which is itself under test.

--check prints counts instead. It fails unless each recorded entry is what its record says: the bytes of the layout, behind a landing
pad of `lead` bytes, at a function's address, within the boundary that is promised. Except with --entry none, an entry must not be
jumped back to, and is none of the instructions that no kernel emulates.

--check-exits does that too, and there have to be exits. In both cases it fails unless the functions that say so have a record at each exit: every return and
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
    """{function address: [text, ...]}, [(address, function address, text, bound, address and number of patchable bytes), ...],
    and {function address: (layout, lead, bound, address and number of patchable bytes)}"""
    found, exits, layouts = {}, [], {}
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
        function = int.from_bytes(d[8:16], "little")
        found.setdefault(function, []).append(" ".join(words))
        layouts[function] = (LAYOUTS[d[1]], d[5], d[4], function + d[5] + d[2], d[3])
    return found, sorted(set(exits)), layouts


def functions(path):
    """{address: [name, ...]}, {address: size}"""
    found, sizes = {}, {}
    for line in run("readelf", "-sW", path).splitlines():
        m = re.match(r"\s*\d+: ([0-9a-f]+)\s+(\S+) (?:FUNC|IFUNC|NOTYPE|LOCAL|GLOBAL|WEAK)\s+(\w+)\s+\w+\s+(\S+) (\S+)", line)
        # -fbasic-block-sections: f.__part.1 has no type.
        if m and m[4] != "UND" and (" FUNC " in line or ".__part." in m[5]) or m and " IFUNC " in line:
            names = found.setdefault(int(m[1], 16), [])
            sizes[int(m[1], 16)] = max(int(m[2], 0), sizes.get(int(m[1], 16), 0))
            if m[5] not in names:
                names.append(m[5])
    return found, sizes


def code(path, objdump):
    """{address: [next instruction texts]} for every instruction, and {address: its bytes as objdump prints them}."""
    at, raw = [], {}
    for line in run(objdump, "-d", "-w", path).splitlines():
        m = re.match(r"\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*(?:\t(.*))?$", line)
        if m:
            insn = re.sub(r"\s+", " ", re.sub(r"\s*[#/]{1,2} .*", "", m[3] or "")).strip()
            at.append((int(m[1], 16), insn))
            raw[int(m[1], 16)] = m[2]
    return {address: [i for _, i in at[n:n + 6]] for n, (address, _) in enumerate(at)}, raw


RETURN = re.compile(r"(repz |bnd |notrack )*(ret|retaa|retab)\b")
JUMP = re.compile(r"(?:bnd )?(?:j\w+|b|b\.\w+|cbn?z \w+,|tbn?z \w+, #\d+,) ([0-9a-f]+) <([^>]*)>")
INDIRECT = re.compile(r"(bnd |notrack )*(jmp \*|br x)")
# Behind such a call nothing is executed. clang's -O0 leaves a jump to the function's end there, which may be padding before the next function.
ENDS = re.compile(r"(bl|call) [0-9a-f]+ <(__cxa_(re)?throw|_Unwind_Resume|abort|__stack_chk_fail)(@plt)?>")
THUNK = re.compile(r"__x86_indirect_thunk_|__llvm_retpoline_|__llvm_lvi_thunk_")  # an indirect jump: to a label of the function, or away


# What fastprobe may leave as it is, if it has no layout of its own: direct branches and calls, on arm64 all of them and adr(p).
BRANCH = re.compile(r"(bnd |notrack )*(jmp|call) [0-9a-f]+|(b|bl|cbn?z|tbn?z|ret|br|blr|adrp?)\b(?!\.)")
BYTES = {"nop": re.compile("90$|d503201f$"), "push": re.compile("(41 )?5[0-7]$"), "nop1+nop10": re.compile("90$")}
PAD = re.compile(r"endbr64|bti\b|hint #0x2[026]|paciasp")


def check_entries(layouts, noted, named, sizes, insns, raw, as_compiled):
    """The number of entries."""
    targets = {}  # where direct jumps go, and where those are that go there
    for at, (insn, *_) in insns.items():
        if jump := JUMP.match(insn):
            targets.setdefault(int(jump[1], 16), []).append(at)
    for function, (layout, lead, bound, patch, length) in layouts.items():
        name, at = named.get(function), function + lead
        where = f"{function:x} {name}: {noted[function]} | {insns.get(at)}"
        assert name, "no function: " + where
        assert at in insns, "no instruction: " + where
        assert layout not in BYTES or BYTES[layout].match(raw[at]), f"bytes {raw[at]}: {where}"
        assert layout != "nop1+nop10" or raw[at + 1] == "66 2e 0f 1f 84 00 00 00 00 00", f"bytes {raw[at + 1]}: {where}"
        assert layout != "stp" or re.match(r"stp x29, x30, \[sp, #-\d+\]!", insns[at][0]), where
        assert not bound or patch >> bound == (patch + length - 1) >> bound, "crosses: " + where
        assert layout != "nop1+nop10" or bound, "no promise: " + where
        assert lead != 4 or PAD.match(insns[function][0]), "no landing pad: " + where
        assert lead or not PAD.match(insns[at][0]) or layout == "other", where
        if as_compiled:
            continue
        relaxed = insns[at][0] == "nop" and insns[at][1].startswith("adr ")  # lld's, of adrp and add
        assert layout != "other" or BRANCH.match(insns[at][0]) or relaxed, "not cheap: " + where
        inside = [hex(jump) for jump in targets.get(at, []) if function <= jump < function + sizes.get(function, 0)]
        assert not inside, f"jumped to from {inside}: {where}"
    return len(layouts)


def check_exits(layouts, noted, exits, named, sizes, insns):
    """The number of exits and of functions that have them."""
    parts = {}  # function -> [(begin, end)] of it and its .cold part
    starts = {name: address for address, names in named.items() for name in names}
    for address in noted:
        parts[address] = [(address, address + sizes.get(address, 0))]
        for name in named.get(address, []):
            for part, start in starts.items():  # -fbasic-block-sections: f.__part.1
                if part == name + ".cold" or part.startswith(name + ".__part."):
                    parts[address].append((start, start + sizes[start]))
    sites = {}
    for at, function, text, bound, patch, length in exits:
        assert "exits" in " ".join(noted.get(function, [])), f"{at:#x}: exit of {function:#x}, whose entry knows of none"
        assert at != function + layouts[function][1], f"{at:#x}: the entry's address"
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
            before = ""
            part = addresses[bisect.bisect_left(addresses, begin):bisect.bisect_left(addresses, end)]
            # Of a newer processor than this objdump (APX): what it shows behind may be the middle of an instruction.
            if any(insns[at][0] == "(bad)" for at in part):
                continue
            for at in part:
                dead, before = ENDS.match(before), insns[at][0]
                jump = JUMP.match(insns[at][0])
                inside = jump and any(b <= int(jump[1], 16) < e for b, e in parts[function])
                # To the end, where nothing is any more, or the next function: clang, code that is never reached.
                nowhere = jump and int(jump[1], 16) == end and (jump[2].split("+")[0] in named.get(function, [])
                                                                or not re.match(r"(bnd )?(jmp|b) ", insns[at][0]))
                leaves = jump and not inside and not nowhere and not dead and not THUNK.match(jump[2])
                if (RETURN.match(insns[at][0]) or leaves) and sites.get(at) != function:
                    missing.append(f"{named.get(function)}: {at:x}: {insns[at][0]}")
    assert not missing, f"{len(missing)} exits without a site: {missing[:10]}"
    return len(exits), sum("exits" in " ".join(texts) for texts in noted.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elf")
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--entry", default="")
    parser.add_argument("--check-exits", action="store_true")
    path, objdump, check, mode, must_have_exits = vars(parser.parse_args()).values()
    (noted, exits, layouts), (named, sizes), (insns, raw) = records(path), functions(path), code(path, objdump)
    if check or must_have_exits:
        assert exits or not must_have_exits, "no exits"
        entries = check_entries(layouts, noted, named, sizes, insns, raw, mode == "none")
        print(f"{entries} entries,", "%d exits of %d functions" % check_exits(layouts, noted, exits, named, sizes, insns))
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
