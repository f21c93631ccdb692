#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check-entries.py JSON REPORT: how many function entries fastprobe selected in a program, how many of them got a nop, and how many were missed.

JSON is what `fastsdt-check --functions --json` prints of it, REPORT what the plugin wrote (report=). Exit 1 if none is selected, or if
a kernel single-steps or refuses a selected entry that the report does not list as missed.
"""
import json
import sys

functions = [f for f in json.load(open(sys.argv[1]))["files"][0]["functions"] if f["selected"]]
missed = {line["function"] for line in map(json.loads, open(sys.argv[2])) if line["action"] == "missed"}
bad = [f["name"] for f in functions if f["name"] not in missed and any(k["verdict"] in ("xol", "reject") for k in f["kernels"].values())]
if bad or not functions:
    print(f"selected, and not cheap: {bad[:10]}" if bad else "no function is selected")
    sys.exit(1)
print(f"{len(functions)}, {sum(f['record']['added'] for f in functions)} with a nop, {sum(f['name'] in missed for f in functions)} missed")
