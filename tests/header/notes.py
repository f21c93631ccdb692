#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The probes of a linked ELF file, read by hand from docs/format.md: what the header's tests compare with.

    notes.py FILE [FORMAT]      one line per stapsdt note, by pc; FORMAT is a Python format string of the fields below
    notes.py --count FILE REGEX how often these bytes stand in the executable sections

Fields: provider name probe args pc sema function bytes, and of the layout note: layout patch (offset,length) bound flags.
It fails when the two sections do not tell the same sites, when a pc is not in code, when a base is not the address of
.stapsdt.base, when patchable bytes cross the promised boundary, or when a note's strings do not end the descriptor.
"""
import re
import struct
import sys


def die(text):
    sys.exit(f"notes.py: {sys.argv[-1] if len(sys.argv) < 3 else sys.argv[1]}: {text}")


class Elf:
    def __init__(self, path):
        self.data = open(path, "rb").read()
        assert self.data[:4] == b"\x7fELF", path
        self.wide = self.data[4] == 2
        self.order = "<" if self.data[5] == 1 else ">"
        self.word = "Q" if self.wide else "I"
        w = self.word
        (_, self.machine, _, self.entry, _, shoff, _, _, _, _, size, count, names) = self.get("HHI" + 3 * w + "IHHHHHH", 16)
        self.sections = []
        for i in range(count):
            (name, kind, flags, addr, offset, length, link, info, align, entsize) = self.get(
                "II" + 4 * w + "II" + 2 * w, shoff + i * size)
            self.sections.append(dict(name=name, kind=kind, flags=flags, addr=addr, offset=offset, size=length, link=link,
                                      entsize=entsize))
        strings = self.body(self.sections[names])
        for s in self.sections:
            s["name"] = self.text(strings, s["name"])

    def get(self, layout, offset, data=None):
        return struct.unpack_from(self.order + layout, self.data if data is None else data, offset)

    @staticmethod
    def text(data, offset):
        return data[offset:data.index(b"\0", offset)].decode()

    def body(self, section):
        return b"" if section["kind"] == 8 else self.data[section["offset"]:section["offset"] + section["size"]]

    def named(self, name):
        return [s for s in self.sections if s["name"] == name]

    def code(self):
        return [s for s in self.sections if s["flags"] & 4 and s["kind"] == 1]

    def notes(self, name):
        for section in self.named(name):
            data, at = self.body(section), 0
            while at < len(data):
                owner, length, kind = self.get("III", at, data)
                start = at + 12 + (owner + 3 & ~3)
                yield data[at + 12:at + 12 + owner], kind, data[start:start + length]
                at = start + (length + 3 & ~3)

    def functions(self):
        found = []
        for s in self.sections:
            if s["kind"] != 2:
                continue
            strings, data = self.body(self.sections[s["link"]]), self.body(s)
            for at in range(0, len(data), s["entsize"]):
                if self.wide:
                    name, info, _, _, value, size = self.get("IBBHQQ", at, data)
                else:
                    name, value, size, info, _, _ = self.get("IIIBBH", at, data)
                if info & 15 == 2:
                    found.append((value & ~1 if self.machine == 40 else value, size, self.text(strings, name)))
        return found


def sites(elf):
    a = 8 if elf.wide else 4
    layouts = []
    for owner, kind, desc in elf.notes(".note.fastsdt"):
        if owner != b"fastsdt\0":
            die(f"owner {owner} in .note.fastsdt")
        if kind != 0x53:
            continue
        version, layout, offset, length, bound, lead, flags, pc, sema = elf.get("BBBBBBH" + 2 * elf.word, 0, desc)
        if version != 1 or lead != 0 or len(desc) != 8 + 2 * a:
            die(f"version {version}, lead {lead}, size {len(desc)} in a SITE record")
        layouts.append(dict(layout=layout, patch=f"{offset},{length}", offset=offset, length=length, bound=bound, flags=flags,
                            pc=pc, sema=sema))
    bases = elf.named(".stapsdt.base")
    functions = elf.functions()
    out = []
    for owner, kind, desc in elf.notes(".note.stapsdt"):
        if owner != b"stapsdt\0" or kind != 3:
            die(f"owner {owner}, type {kind} in .note.stapsdt")
        pc, base, sema = elf.get(3 * elf.word, 0, desc)
        strings = desc[3 * a:].split(b"\0")
        if len(strings) != 4 or strings[3]:
            die(f"the strings do not end the descriptor: {desc[3 * a:]}")
        provider, name, args = (s.decode() for s in strings[:3])
        if provider in ("libc", "libm", "rtld"):
            continue  # glibc's own, in static programs: with systemtap's header
        if [b["addr"] for b in bases] != [base]:
            die(f"{provider}:{name}: base {base:#x}, .stapsdt.base at {[hex(b['addr']) for b in bases]}")
        code = [s for s in elf.code() if s["addr"] <= pc < s["addr"] + s["size"]]
        if not code:
            die(f"{provider}:{name}: pc {pc:#x} is in no code")
        at = code[0]["offset"] + pc - code[0]["addr"]
        inside = [f for f in functions if f[0] <= pc < f[0] + max(f[1], 1)]
        out.append(dict(provider=provider, name=name, probe=f"{provider}:{name}", args=args, pc=pc, sema=sema,
                        bytes=elf.data[at:at + 11].hex(), function=inside[0][2] if inside else "?"))
    out.sort(key=lambda s: (s["pc"], s["probe"]))
    layouts.sort(key=lambda s: s["pc"])
    if [(s["pc"], s["sema"]) for s in out] != [(s["pc"], s["sema"]) for s in layouts]:
        die("stapsdt and layout notes tell different sites")
    for s in layouts:
        first, last = s["pc"] + s["offset"], s["pc"] + s["offset"] + s["length"] - 1
        if s["bound"] and first >> s["bound"] != last >> s["bound"]:
            die(f"the bytes at {first:#x} cross the boundary that the note at {s['pc']:#x} promises")
    return [{**s, **layout} for s, layout in zip(out, layouts)]


def main():
    if sys.argv[1] == "--count":
        elf = Elf(sys.argv[2])
        pattern = re.compile(sys.argv[3].encode(), re.DOTALL)
        print(sum(len(pattern.findall(elf.body(s))) for s in elf.code()))
        return
    layout = sys.argv[2] if len(sys.argv) > 2 else "{probe} {pc:#x} {layout} {patch} {bound} {flags:#x} {sema:#x} {args}"
    for site in sites(Elf(sys.argv[1])):
        print(layout.format(**site))


if __name__ == "__main__":
    main()
