#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare.py CHECK DUMP FILE: the answers of libfastsdt (what tests/reader/dump.c printed of FILE) are those of `fastsdt-check --json
--functions` (in CHECK) and its notes those that readelf -n reads. Prints how many probes, functions and notes that were."""
import json
import re
import subprocess
import sys

with open(sys.argv[1], errors="replace") as stream:
    check = json.load(stream)
with open(sys.argv[2], errors="replace") as stream:
    dump = json.loads(re.sub(r', (0\]|"": 0\})', lambda m: "]" if m.group(1) == "0]" else "}", stream.read()).replace("[0]", "[]").replace('{"": 0}',
        "{}"))
path = sys.argv[3]
problems, readelf_probes, functions = [], 0, 0


def same(what, ours, theirs):
    if ours != theirs:
        problems.append(f"{path}: {what}: libfastsdt {ours!r}, fastsdt-check {theirs!r}")


def same_findings(what, ours, theirs):
    same(what + " findings", [{k: v for k, v in f.items() if v is not None} for f in ours], theirs)


def same_place(what, ours, theirs):
    same(what + " address", ours["address"], theirs["address"])
    same(what + " offset", ours["file_offset"], theirs.get("file_offset"))
    same(what + " section", ours["section"], theirs.get("section"))
    kernels = {}
    for kernel, one in ours["kernels"].items():
        kernels[kernel] = {"verdict": one["verdict"], "why": one["why"]}
        if one["patch_verdict"] is not None:
            kernels[kernel]["at_patch"] = {"verdict": one["patch_verdict"], "why": one["patch_why"], "libbpf_moves": bool(one["libbpf_moves"])}
    wanted = json.loads(json.dumps(theirs["kernels"] or {}))
    for one in wanted.values():
        one.get("at_patch", {}).pop("offset", None)
    same(what + " kernels", kernels, wanted)


def same_record(what, ours, theirs):
    same(what + " recorded", bool(ours["recorded"]), theirs is not None)
    if theirs is not None:
        same(what + " bound", ours["bound"] or None, theirs["bound"] or None)
        same(what + " layout", ours["layout"], theirs["layout"])


def same_probe(what, ours, theirs):
    same_place(what, ours, theirs)
    same_record(what, ours, theirs["layout_note"])
    for member in ("provider", "name", "argument_string", "layout", "state", "file"):
        same(f"{what} {member}", ours[member], theirs[member])
    same(what + " line", ours["line"] or None, theirs["line"])
    same(what + " bytes", ours["bytes"], theirs["bytes"] or "")
    if theirs["semaphore"] is None:
        same(what + " semaphore", ours["semaphore"], 0)
    else:
        same(what + " semaphore", ours["semaphore"], theirs["semaphore"]["address"])
        same(what + " semaphore's offset", ours["semaphore_offset"], theirs["semaphore"].get("file_offset", 0))
    for one in ours["arguments"]:
        one["size"] = one["size"] or None
        one["signed"], one["float"] = bool(one["signed"]), bool(one["float"])
        for reading in one["tracers"].values():
            if not reading["why"]:
                del reading["why"]
    same(what + " arguments", ours["arguments"], theirs["arguments"])
    same_findings(what, ours["findings"], theirs["findings"])


def same_function(what, ours, theirs):
    same_place(what, ours, theirs)
    same_record(what, ours, theirs["record"])
    for member in ("name", "size", "layout" if theirs["layout"] else "name"):
        if member != "layout" or not ours["recorded"]:
            same(f"{what} {member}", ours[member], theirs[member])
    same(what + " aliases", [one["name"] for one in ours["aliases"]], theirs["aliases"])
    same(what + " ifunc", bool(ours["ifunc"]), theirs["ifunc"])
    same(what + " selected", bool(ours["selected"]), theirs["selected"])
    same(what + " lead", ours["lead"], theirs["probe_offset"])
    record = theirs["record"] or {}
    for member, of in (("added", "added"), ("missed", "missed"), ("returns_twice", "returns_twice"), ("all_exits", "exits")):
        same(f"{what} {member}", bool(ours[member]), record.get(of, False))
    same(what + " stack arguments", ours["stack_arguments"], record.get("stack_arguments"))
    same(what + " exits", len(ours["exits"]), len(theirs["exits"]))
    for our, their in zip(ours["exits"], theirs["exits"]):
        where = f"{what} exit {our['address']:#x}"
        same_place(where, our, their)
        same_record(where, our, their)
        same(where + " tail call", bool(our["tail_call"]), their["tail_call"])
        same(where + " result", (our["result"], our["result_size"] or None, {-1: None, 0: False, 1: True}[our["result_signed"]]),
             (their["result"]["where"], their["result"]["size"], their["result"]["signed"]))
        same_findings(where, our["findings"], their["findings"])
    same_findings(what, ours["findings"], theirs["findings"])


same("kernels", dump["kernels"], check["kernels"])
same("troubles", sorted(f"{t['where']}: {t['what']}" for t in dump["troubles"]),
     sorted(f["error"].split("; --outside")[0] for f in check["files"] if "error" in f))
files = [f for f in check["files"] if "error" not in f]
same("number of files", len(dump["files"]), len(files))
for ours, theirs in zip(dump["files"], files):
    for member in ("path", "member", "build_id", "arch", "machine", "class", "byte_order", "kind"):
        same(member, ours[member], theirs[member])
    for member in ("separate_debug", "indexed"):
        same(member, bool(ours[member]), theirs[member])
    for members, compare in (("probes", same_probe), ("functions", same_function)):
        same("number of " + members, len(ours[members]), len(theirs[members]))
        for our, their in zip(ours[members], theirs[members]):
            compare(f"{members[:-1]} {our['name']} at {our['address']:#x}", our, their)
    same_findings("file", ours["findings"], theirs["findings"])
    functions += len(ours["functions"])

# readelf prints what a note says; tracers then move it by what .stapsdt.base has moved since.
def readelf(option):
    return subprocess.run(["readelf", option, path], capture_output=True, check=False)


if len(dump["files"]) == 1 and dump["files"][0]["kind"] != "relocatable" and readelf("-nW").returncode == 0:
    base = re.search(r"\] \.stapsdt\.base +PROGBITS +([0-9a-f]+)", readelf("-SW").stdout.decode(errors="replace"))
    notes = re.findall(r"Provider: (.*)\n\s*Name: (.*)\n\s*Location: 0x([0-9a-f]+), Base: 0x([0-9a-f]+), Semaphore: 0x([0-9a-f]+)\n\s*Arguments: ?(.*)\n",
                       readelf("-nW").stdout.decode(errors="replace"))
    theirs = []
    for provider, name, at, was, semaphore, arguments in notes:
        moved = int(base.group(1), 16) - int(was, 16) if base and int(was, 16) else 0
        theirs.append((provider, name, int(at, 16) + moved, int(semaphore, 16) and int(semaphore, 16) + moved, arguments.strip()))
    ours = [(p["provider"], p["name"], p["address"], p["semaphore"], p["argument_string"].strip()) for p in dump["files"][0]["probes"]]
    same("what readelf says", sorted(ours), sorted(theirs))
    readelf_probes = len(theirs)
print("\n".join(problems[:20]) if problems else f"{path}: {sum(len(f['probes']) for f in dump['files'])} probes, {functions} functions, {readelf_probes} notes by readelf")
sys.exit(bool(problems))
