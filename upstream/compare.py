#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare.py READELF FASTSDT-CHECK FILE...: do a patched readelf or eu-readelf and fastsdt-check read the same records?

Compares what `readelf -n` prints of .note.fastsdt with `fastsdt-check --json --functions`, record by record, in linked files."""
import json, re, subprocess, sys

if len(sys.argv) < 4:
    sys.exit(__doc__)
readelf, check, *files = sys.argv[1:]
RESULTS = {"unknown": "other", "none": "none", "integer register": "register", "two integer registers": "pair",
           "vector register": "vector", "memory": "memory"}
HEAD = re.compile(r"^  fastsdt .*?[ _](SITE|ENTRY|EXIT|INDEX|NAMES)\b|^   (SITE|ENTRY|EXIT)$")


def printed(path):
    """The records that readelf prints, as (type, address, fields)."""
    text = subprocess.run([readelf, "-n", path], capture_output=True, text=True, check=True).stdout
    records, kind, fields = set(), None, {}
    for line in text.split("\n"):
        head = HEAD.match(line)
        if head:
            kind, fields = head[1] or head[2], {}
        elif re.match(r" {0,2}\S", line): # another owner's note, or another section
            kind = None
        elif kind in ("SITE", "ENTRY", "EXIT") and line.startswith("    "):
            name, _, value = line.strip().partition(": ")
            if name == "Location":
                address, _, operand = value.partition(", ")
                operand = operand.partition(": ")[2]
                fields["address"], fields["operand"] = int(address, 16), operand if kind == "ENTRY" else int(operand, 16)
            elif name == "Layout":
                m = re.fullmatch(r"(\S+|<unknown: \d+>), Patchable: (\d+) bytes at (\d+)(?: within 2\^(\d+))?(?:, Lead: (\d+))?", value)
                fields.update(layout=m[1], length=int(m[2]), offset=int(m[3]), bound=1 << int(m[4]) if m[4] else 0, lead=int(m[5] or 0))
            elif name == "Result":
                where, _, size = value.partition(", ")
                fields["result"] = RESULTS[where], int(size.split()[0]) if size else None
            elif name.startswith("Flags"):
                fields["flags"] = frozenset() if value == "none" else frozenset(value.split(", "))
                records.add((kind, fields.pop("address"), tuple(sorted(fields.items()))))
    return records


def place(note):
    # readelf does not tell x86's nop from others.
    return dict(layout="nop" if note["layout"] == "nop1" else note["layout"], length=note["patch_length"], offset=note["patch_offset"],
                bound=note["bound"] or 0)


def judged(path):
    """The same from fastsdt-check."""
    text = subprocess.run([check, "--json", "--functions", path], capture_output=True, text=True).stdout
    file = json.loads(text)["files"][0]
    records = set()

    def add(kind, address, **fields):
        records.add((kind, address, tuple(sorted(fields.items()))))

    def flags(note, **names):
        return frozenset(flag for key, flag in names.items() if note[key])

    for probe in file["probes"]:
        note = probe["layout_note"]
        if note:
            # The JSON has the semaphore of the stapsdt note, which is the same.
            add("SITE", probe["address"], operand=(probe["semaphore"] or {"address": 0})["address"], lead=0, **place(note),
                flags=flags(note, flags_dead="FLAGS_DEAD", no_redzone="NO_REDZONE", ungrouped="UNGROUPED"))
    for function in file["functions"]:
        note = function["record"]
        if not note:
            continue
        stack = note["stack_arguments"]
        add("ENTRY", function["address"], operand="unknown" if stack is None else f"{stack} bytes", lead=note["lead"], **place(note),
            flags=flags(note, returns_twice="RETURNS_TWICE", added="ADDED", missed="MISSED", exits="EXITS"))
        for way in function["exits"]:
            result = way["result"]
            signs = {True: {"SIGNED"}, False: {"UNSIGNED"}, None: set()}[result["signed"]]
            add("EXIT", way["address"], operand=function["address"], lead=0, **place(way), result=(result["where"], result["size"]),
                flags=frozenset(signs | ({"TAIL_CALL"} if way["tail_call"] else set())))
    return records


status = total = 0
for path in files:
    ours, theirs = judged(path), printed(path)
    total += len(ours)
    for record in sorted(ours - theirs, key=str):
        print(f"{path}: only fastsdt-check has {record}")
    for record in sorted(theirs - ours, key=str):
        print(f"{path}: only {readelf} has {record}")
    if ours != theirs or not ours:
        status = 1
        print(f"{path}: {len(ours)} and {len(theirs)} records")
print(f"{total} records in {len(files)} files" + ("" if status else ", all the same"))
sys.exit(status)
