#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""damaged.py CODE_DUMP FILE: runs it on damaged copies of FILE. Each has to end by itself within seconds and 1 GB."""
import random
import resource
import struct
import subprocess
import sys

dump, path = sys.argv[1:]
sound = open(path, "rb").read()


def sections(data):
    offset, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + 64 * i) for i in range(count)]
    texts = headers[names][4]
    return {data[texts + h[0]:data.index(0, texts + h[0])].decode(): (offset + 64 * i, h) for i, h in enumerate(headers)}


here = sections(sound)


def run(what, data):
    with open("damaged.so", "wb") as file:
        file.write(data)
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    try:
        # A sanitizer's shadow needs more address space.
        result = subprocess.run([dump, "damaged.so"], capture_output=True, timeout=60, preexec_fn=None if sanitized else limit)
    except subprocess.TimeoutExpired:
        sys.exit(f"{what}: still running after a minute")
    if result.returncode != 0:
        sys.exit(f"{what}: status {result.returncode}: {result.stderr.decode(errors='replace')[-2000:]}")


sanitized = b"__asan_init" in open(dump, "rb").read()
run("sound", sound)


# A section moved to the end of the file, with other contents.
def replaced(name, contents):
    data = bytearray(sound)
    at, header = here[name]
    struct.pack_into("<QQ", data, at + 24, len(data), len(contents))
    return bytes(data) + contents


frame_at, frame = here[".eh_frame"]
bytes_of_frame = sound[frame[4]:frame[4] + frame[5]]
for cut in range(0, len(bytes_of_frame), 7):
    run(f".eh_frame cut at {cut}", replaced(".eh_frame", bytes_of_frame[:cut]))

machine, = struct.unpack_from("<H", sound, 18)
column = b"\x1e" if machine == 183 else b"\x10"
cie = struct.pack("<II", 20, 0) + b"\1zR\0\1\x78" + column + b"\1\x1b\x0c\x07\x08\x90\1\0\0"
run("each entry is its own CIE", replaced(".eh_frame", struct.pack("<II", 12, 4) + b"\0" * 8))
run("CIEs that lead to each other", replaced(".eh_frame", b"".join(struct.pack("<IIQ", 12, 4 + 16 * (i % 3), 0) for i in range(100000))))
# 64 k entries of the same code, of all code, and with a program each that never ends.
text = here[".text"][1]
same = cie + b"".join(struct.pack("<IIiIBxxx", 16, 28 + 20 * i, -100, 0x10000, 0) for i in range(1 << 16))
run("many entries of the same code", replaced(".eh_frame", same))
remember = cie + struct.pack("<IIiIB", 13 + (1 << 20), 28, 0, 64, 0) + b"\x0a" * (1 << 20)
run("a million remembered states", replaced(".eh_frame", remember))
run("augmentation without an end", replaced(".eh_frame", struct.pack("<II", 1 << 20, 0) + b"\1z" + b"R" * (1 << 20)))
run("LEB128 without an end", replaced(".eh_frame", struct.pack("<II", 1000, 0) + b"\1z\0" + b"\x80" * 1000))
for length in (0, 1, 3, 4, 7, 0x7fffffff, 0xfffffff0, 0xffffffff):
    run(f"length {length:#x}", replaced(".eh_frame", struct.pack("<II", length, 0) + bytes_of_frame))
run("nothing but CIEs within CIEs", replaced(".eh_frame", b"".join(struct.pack("<II", 1000, 0) for _ in range(1 << 16))))

# Bits here and there, where the tables are.
rng = random.Random(1)
for name in (".eh_frame", ".gcc_except_table", ".rodata", ".text", ".rela.dyn", ".dynamic", "__rseq_cs", ".symtab"):
    if name not in here:
        continue
    header = here[name][1]
    for _ in range(25):
        data = bytearray(sound)
        for _ in range(rng.randint(1, 20)):
            data[header[4] + rng.randrange(header[5])] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
        run(f"{name} changed", bytes(data))
# Headers of segments and sections.
for _ in range(200):
    data = bytearray(sound)
    for _ in range(rng.randint(1, 4)):
        offset = rng.choice((rng.randrange(64, 64 + 56 * 8), here[".text"][0] + rng.randrange(64 * 10) - 64 * 5))
        data[offset % len(data)] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
    run("headers changed", bytes(data))
