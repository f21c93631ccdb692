#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the tools cost on 1,000, 10,000 and 100,000 of everything a file can have many of.

scale.py KIND COUNT FILE   writes such a file (tests/check/bounds.sh uses them too)
scale.py measure BIN       runs the tools in BIN on all kinds: CPU seconds, and the ratio of neighbours.
                           Exit status 1 if a ratio is 15 or more: ten would be linear."""
import os
import struct
import subprocess
import sys
import tempfile
import zlib

NOP10 = bytes([0x90, 0x66, 0x2E, 0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0])
TEXT = 0x401000  # where code is in the file at 0x1000
BASE = 0x400000


def note(owner, kind, descriptor, big=False):
    descriptor += bytes(-len(descriptor) % 4)
    return struct.pack(">III" if big else "<III", len(owner) + 1, len(descriptor), kind) + owner + b"\0" + descriptor


def probe(pc, name, semaphore=0, base=BASE, big=False, arguments=b""):
    text = b"p\0" + name + b"\0" + arguments + b"\0"
    e = ">" if big else "<"
    descriptor = struct.pack(e + "QQQ", pc, base, semaphore) + text
    size = len(descriptor)
    descriptor += bytes(-size % 4)
    return struct.pack(e + "III", 8, size, 3) + b"stapsdt\0" + descriptor


def site(pc, semaphore=0, lead=0, layout=6):
    return note(b"fastsdt", 0x53, struct.pack("<BBBBBBHQQ", 1, layout, 1, 10, 0, lead, 1, pc, semaphore))


def elf(sections, segments, machine=62, kind=2, big=False):
    """sections: (name, type, flags, address, bytes or offset and size, link, info, entry size[, alignment])"""
    e = ">" if big else "<"
    names, offsets = bytearray(b"\0"), {}
    for name in [s[0] for s in sections] + [".shstrtab"]:
        if name not in offsets:
            offsets[name] = len(names)
            names += name.encode() + b"\0"
    sections = sections + [(".shstrtab", 3, 0, 0, bytes(names), 0, 0, 0)]
    start = 64 + 56 * len(segments)
    out = bytearray(start)
    rows = [bytes(64)]
    for name, typ, flags, address, content, link, info, size, *align in sections:
        if isinstance(content, tuple):
            offset, length = content
        elif flags & 2 and address:  # loaded: at its address
            offset, length = address - BASE, len(content)
            out.extend(bytes(max(0, offset + length - len(out))))
            out[offset : offset + length] = content
        else:
            out.extend(bytes(-len(out) % 8))
            offset, length = len(out), len(content)
            out += content
        rows.append(struct.pack(e + "IIQQQQIIQQ", offsets[name], typ, flags, address, offset, length, link, info,
                                align[0] if align else 1 if size == 0 else 8, size))
    out.extend(bytes(-len(out) % 8))
    many = len(rows) >= 0xFF00
    if many:
        rows[0] = struct.pack(e + "IIQQQQIIQQ", 0, 0, 0, 0, 0, len(rows), len(rows) - 1, 0, 0, 0)
    header = b"\x7fELF\2" + (b"\2" if big else b"\1") + b"\1" + bytes(9)
    header += struct.pack(e + "HHIQQQIHHHHHH", kind, machine, 1, TEXT, 64 if segments else 0, len(out), 0, 64, 56, len(segments), 64,
                          0 if many else len(rows), 0xFFFF if many else len(rows) - 1)
    out[:64] = header
    for i, (offset, address, size, flags, typ) in enumerate(segments):
        out[64 + 56 * i : 120 + 56 * i] = struct.pack(e + "IIQQQQQQ", typ, flags, offset, address, address, size, size, 0x1000)
    return bytes(out) + b"".join(rows)


def program(probes, records, text_size, more=(), segments=(), data=0):
    """A program whose text is full of sites, from TEXT on, 16 bytes each."""
    text = (NOP10 + bytes([0x90] * 5)) * (text_size // 16)
    sections = [(".text", 1, 6, TEXT, text, 0, 0, 0), (".stapsdt.base", 1, 2, BASE + 0xF00, b"\0", 0, 0, 0),
                (".note.stapsdt", 7, 0, 0, b"".join(probes), 0, 0, 0), (".note.fastsdt", 7, 0, 0, b"".join(records), 0, 0, 0)]
    load = [(0, BASE, 0x1000 + len(text), 5, 1)]
    return elf(sections + list(more), load + list(segments))


def names(n):
    sites = [TEXT + 16 * i for i in range(n)]
    return program([probe(pc, b"n%d" % i, base=BASE + 0xF00) for i, pc in enumerate(sites)], [site(pc) for pc in sites], 16 * n)


def one_name(n):
    sites = [TEXT + 16 * i for i in range(n)]
    return program([probe(pc, b"same", base=BASE + 0xF00) for pc in sites], [site(pc) for pc in sites], 16 * n)


def one_pc(n):  # n notes and n records at one address, none of which fits
    return program([probe(TEXT + 3, b"n%d" % i, base=BASE + 0xF00 - 16 * i) for i in range(n)], [site(TEXT + 3, i, i % 251, i % 7) for i in range(n)],
                   4096)


def record_sections(n):  # n records in n executable sections
    sections = [(".t%d" % (i % 50), 1, 6, TEXT + 16 * i, (0x1000 + 16 * i, 16), 0, 0, 0) for i in range(n)]
    return program([], [site(TEXT + 16 * i) for i in range(n)], 16 * n, more=sections)


def note_sections(n):
    sections = [(".note.fastsdt", 7, 0, 0, site(TEXT + 16 * i), 0, 0, 0) for i in range(n)]
    return program([], [], 16 * n, more=sections)


def shared_notes(n):  # a section of n records that n/50 headers name
    records = b"".join(site(TEXT + 16 * i) for i in range(n))
    body = program([], [records], 16 * n)
    where = (body.find(records), len(records))
    return program([], [records], 16 * n, more=[(".note.fastsdt", 7, 0, 0, where, 0, 0, 0)] * (n // 50))


def alignments(n):  # n sections of a byte that are to be aligned to 16 MB, behind notes that an index makes smaller
    sites = [TEXT + 16 * i for i in range(50)]
    sections = [(".x%d" % i, 1, 0, 0, b"x", 0, 0, 0, 1 << 24) for i in range(n)]
    return program([probe(pc, b"n", base=BASE + 0xF00) for pc in sites], [site(pc) for pc in sites], 1024, more=sections)


def names_note(name, count, text=b""):  # types and names of so many arguments; the first type has the text
    body = b"p\0" + name + b"\0" + text + b"\0" * (2 * count)
    return note(b"fastsdt", 0x4E, struct.pack("<BBH", 1, count, 0) + body)


def names_that_never_fit(n):  # n probes of one name, and n notes of names for another number of arguments
    sites = [TEXT + 16 * i for i in range(n)]
    more = [(".note.fastsdt.names", 7, 0, 0, b"".join(names_note(b"same", 2 + i % 200, b"t%d" % i) for i in range(n)), 0, 0, 0)]
    return program([probe(pc, b"same", base=BASE + 0xF00, arguments=b"8@%rdi") for pc in sites], [site(pc) for pc in sites], 16 * n, more=more)


def one_names_note(n):  # n probes of one name, whose argument has a type of 200 KB
    sites = [TEXT + 16 * i for i in range(n)]
    more = [(".note.fastsdt.names", 7, 0, 0, names_note(b"same", 1, b"t" * 200000), 0, 0, 0)]
    return program([probe(pc, b"same", base=BASE + 0xF00, arguments=b"8@%rdi") for pc in sites], [site(pc) for pc in sites], 16 * n, more=more)


def aliases(n):  # n names of one function, each as long as the reader takes them, which share their bytes
    strings = b"\0" + b"".join(b"%x_" % i for i in range(n))[: 8192 + n] + b"\0"
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 + i, 0x12, 0, 1, TEXT, 16) for i in range(n))
    more = [(".strtab", 3, 0, 0, strings, 0, 0, 0), (".symtab", 2, 0, 0, symbols, 5, 1, 24)]
    return program([], [], 4096, more=more)


def long_places(n):  # an object: n probes, with semaphores, in a section with the longest name that the reader takes
    first = 4096  # the address that the reader gives the first section
    notes = [probe(first + i, b"n", first, base=0) for i in range(n)]
    return elf([(".t" + "x" * 8000, 1, 6, 0, bytes([0xF4]) * n, 0, 0, 0), (".note.stapsdt", 7, 0, 0, b"".join(notes), 0, 0, 0)], [], kind=1)


def semaphores(n):  # n probes with semaphores, one in each of n writable segments
    load = [(0x1000 + 16 * i, 0x10000000 + 0x10000 * i, 16, 6, 1) for i in range(min(n, 60000))]
    sites = [TEXT + 16 * i for i in range(n)]
    notes = [probe(pc, b"n%d" % i, load[i % len(load)][1], base=BASE + 0xF00) for i, pc in enumerate(sites)]
    return program(notes, [site(pc, load[i % len(load)][1]) for i, pc in enumerate(sites)], 16 * n, segments=load)


def member(name, contents, size=None):
    return b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name, 0, 0, 0, b"644", len(contents) if size is None else size) + contents


def archive(n, thin=False):  # a table of long names without one line end, and n members with names in it
    table = b"a" * (40 * n)
    out = b"!<thin>\n" if thin else b"!<arch>\n"
    out += member(b"//", table)
    return out + b"".join(member(b"/%d" % (i * 40), b"" if thin else b"\x7fELF", 4) for i in range(n))


def relocations(n):  # a big-endian object: n note sections share one table of n relocations
    table = b"".join(struct.pack(">QQq", 8 * i, 1 << 32 | 1, 0) for i in range(n))
    symbols = struct.pack(">IBBHQQ", 0, 0, 0, 0, 0, 0) + struct.pack(">IBBHQQ", 0, 3, 0, 1, 0, 0)
    sections = [(".text", 1, 6, 0, bytes(64), 0, 0, 0), (".symtab", 2, 0, 0, symbols, 1, 1, 24), (".rela.x", 4, 0, 0, table, 2, 1, 24)]
    where = 64 + 64 + len(symbols)
    body = elf(sections, [], 21, 1, True)
    at = body.find(table[:1000] if n > 40 else table)
    count = max(1, n // 100)
    for i in range(count):
        sections.append((".note.stapsdt", 7, 0, 0, probe(0, b"n", base=0, big=True), 0, 0, 0))
        sections.append((".rela.note", 4, 0, 0, (at, len(table)), 2, len(sections), 24))
    return elf(sections, [], 21, 1, True)


def lines(n, compressed=True):  # a line table of n rows for one unit: compressed, a thousandth of its size in the file
    uleb = lambda v: bytes([v & 127 | 128, v >> 7 & 127 | 128, v >> 14 & 127])
    header = struct.pack("<HI", 4, 31) + bytes([1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"\0a.c\0\0\0\0\0"
    header = struct.pack("<H", 4) + struct.pack("<I", len(header) - 6) + header[6:]
    rows = bytes([0, 9, 2]) + struct.pack("<Q", TEXT) + b"\x12" * n + bytes([2, 1, 0, 1, 1])
    table = struct.pack("<I", len(header) + len(rows)) + header + rows
    abbrev = bytes([1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0, 0])
    die = bytes([1]) + struct.pack("<IQQ", 0, TEXT, 0x10000)
    info = struct.pack("<IHIB", 7 + len(die), 4, 0, 8) + die
    packed = struct.pack("<IIQQ", 1, 0, len(table), 1) + zlib.compress(table, 9) if compressed else table
    more = [(".debug_info", 1, 0, 0, info, 0, 0, 0), (".debug_abbrev", 1, 0, 0, abbrev, 0, 0, 0),
            (".debug_line", 1, 0x800 if compressed else 0, 0, packed, 0, 0, 0)]
    return program([probe(TEXT, b"n", base=BASE + 0xF00)], [site(TEXT)], 4096, more=more)


KINDS = {"names": names, "one-name": one_name, "one-pc": one_pc, "record-sections": record_sections, "note-sections": note_sections,
         "shared-notes": shared_notes,
         "names-that-never-fit": names_that_never_fit, "one-names-note": one_names_note, "aliases": aliases, "long-places": long_places,
         "alignments": alignments,
         "semaphores": semaphores, "archive": archive, "thin": lambda n: archive(n, True), "relocations": relocations, "lines": lines,
         "plain-lines": lambda n: lines(n, False)}

# The process under --pid: maps one page of this program COUNT times, each a mapping of its own.
MAPPER = """
#include <fastsdt.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char** argv)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    long i;
    for (i = 0; i < atol(argv[1]); i++)
        if (mmap(0, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x1000) == MAP_FAILED)
            return 1;
    FASTSDT(scale, mapped);
    puts("ready");
    fflush(stdout);
    return getchar() == EOF ? 0 : argc;
}
"""

COMMANDS = [("check -s", ["fastsdt-check", "-s"]), ("check", ["fastsdt-check"]),
            ("check --json", ["fastsdt-check", "--json"]), ("plan", ["fastsdt-check", "--plan", "-k", "6.12"]),
            ("plan --json", ["fastsdt-check", "--plan", "--json", "-k", "6.12"]), ("index", ["fastsdt-index", "-q", "-n"])]


def cost(command, runs):
    best = None
    for _ in range(runs):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        seconds = usage.ru_utime + usage.ru_stime
        best = seconds if best is None else min(best, seconds)
    return best


def measure(bin_directory):
    bad = False
    print(f"{'kind':16} {'tool':18} {'count':>7} {'file MB':>8} {'seconds':>8} {'ratio':>6}")

    def row(kind, tool, count, size, command, before):
        nonlocal bad
        seconds = cost(command, 3 if before is None or before < 0.3 else 1)
        ratio = seconds / max(before, 0.005) if before is not None else None
        wrong = ratio is not None and ratio >= 15
        bad |= wrong
        print(f"{kind:16} {tool:18} {count:7} {size / 1e6:8.2f} {seconds:8.3f} {'' if ratio is None else f'{ratio:6.1f}'}{' TOO MUCH' if wrong else ''}", flush=True)
        return seconds

    with tempfile.TemporaryDirectory() as directory:
        for kind, make in KINDS.items():
            before = {}
            for count in 1000, 10000, 100000:
                path = os.path.join(directory, kind)
                with open(path, "wb") as file:
                    file.write(make(count))
                for tool, command in COMMANDS:
                    if tool == "index" and kind in ("archive", "thin", "relocations", "long-places"):
                        continue
                    command = [os.path.join(bin_directory, command[0])] + command[1:] + [path]
                    key = " ".join(command[1:-1]) + tool
                    before[key] = row(kind, tool, count, os.path.getsize(path), command, before.get(key))
        source = os.path.join(directory, "mapper.c")
        with open(source, "w") as file:
            file.write(MAPPER)
        include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include")
        subprocess.run(["cc", "-O2", "-I" + include, source, "-o", source[:-2]], check=True)
        before = None
        for count in 600, 6000, 60000:
            process = subprocess.Popen([source[:-2], str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if process.stdout.readline() == b"ready\n":
                before = row("mappings", "check --pid", count, 0, [os.path.join(bin_directory, "fastsdt-check"), "--pid", str(process.pid)], before)
            process.stdin.close()
            process.wait()
    return bad


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "measure":
        sys.exit(measure(sys.argv[2]))
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit("usage: scale.py KIND COUNT FILE\nkinds: " + " ".join(KINDS))
    with open(sys.argv[3], "wb") as file:
        file.write(KINDS[sys.argv[1]](int(sys.argv[2])))
