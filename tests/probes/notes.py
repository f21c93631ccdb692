#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""notes.py COMPILER OBJECT: sites, notes and names in an object that `use object` made are those that this compiler makes of fastsdt.h, and
fastsdt-check finds nothing wrong."""
import json
import os
import subprocess
import sys

COMPILER, OBJECT = sys.argv[1:]
# The probes of use.c, with types and names.
SIZES = ["signed char a", "short b", "int c", "long d", "unsigned char e", "unsigned short f", "unsigned g", "unsigned long h"]
PROBES = {**{f"n{n}": [f"long a{i}" for i in range(n)] for n in range(13)}, "sizes": SIZES,
          "named": ["long id", "const char *item", "double price", "bool paid"]}


def same(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAIL: {what}\n--- expected\n{wanted}\n--- got\n{got}")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"FAIL: {' '.join(command)}: status {done.returncode}: {done.stdout}")
    return done.stdout


def check(path):
    """Of each probe what does not depend on where it is. On arm64 a finding says that old kernels single-step a nop: hence the others' too."""
    report, = json.loads(run("fastsdt-check", "--json", "--no-lines", "--fail-on", "warning", path))["files"]
    length = 22 if report["arch"] == "x86_64" else 8
    probes = {}
    for probe in report["probes"]:
        operands = probe["argument_string"].split()
        if probe["name"] == "named":
            operands[2] = "DOUBLE"  # in C it comes in another register
            operands[3] = operands[3].split("@")[0]
        probes[probe["name"]] = (probe["provider"], probe["bytes"][:length], probe["layout"], probe["layout_note"], operands,
                                 probe["semaphore"] is not None, [one["id"] for one in report["findings"] + probe["findings"]])
    names = {probe["name"]: [(one.get("name"), one.get("type")) for one in probe["arguments"]] for probe in report["probes"]}
    return probes, names


def named(parameter):
    """type, name"""
    name = parameter.replace("*", " ").split()[-1]
    return parameter[:-len(name)].strip(), name


def compiled(uses):
    """What this compiler makes of these statements, each with the parameters of a probe."""
    with open("same.c", "w", encoding="utf-8") as out:
        out.write('#include "fastsdt.h"\ntypedef _Bool bool;\n')
        for name, use in uses.items():
            out.write(f'void {name}({", ".join(PROBES[name]) or "void"}) {{ {use}; }}\n')
    run(COMPILER, "-O2", "-shared", "-fPIC", "-nostdlib", "-DFASTSDT_BOUND=4", "-I", os.environ["INCLUDE"], "same.c", "-o", "same.so")
    return check("same.so")


ours, our_names = check(OBJECT)
same(f"sites of {COMPILER}", ours, compiled({name: f"FASTSDT_WITH(default, implicit, shop, {name}{''.join(', ' + named(one)[1] for one in of)})"
                                             for name, of in PROBES.items()})[0])
# FASTSDT_NAMED has no semaphore, so of these only the names are compared.
theirs = compiled({name: f"FASTSDT_NAMED(shop, {name}, {', '.join('(%s, %s, %s)' % (*named(one), named(one)[1]) for one in PROBES[name])})"
                   for name in ("sizes", "named")})[1]
same(f"names of {COMPILER}", {name: our_names[name] for name in theirs}, theirs)
print(f"{len(PROBES)} probes are those of {COMPILER}")
