#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""go.py FILE: does what docs/go.md says, in this folder, and compares what is printed. Times and addresses may differ, and how many waited."""
import re
import subprocess
import sys

lines = open(sys.argv[1]).read().split("\n")
problems = []
at = 0
ran = 0
while at < len(lines):
    if not lines[at].startswith("```"):
        at += 1
        continue
    end = lines.index("```", at + 1)
    name, text = lines[at].partition(" ")[2], "\n".join(lines[at + 1:end]) + "\n"
    at = end + 1
    if name:
        open(name, "w").write(text)
        continue
    command, _, shown = text.removeprefix("$ ").partition("\n")
    result = subprocess.run(["bash", "-c", command.replace("2>/dev/null", "2>err")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False)

    def mask(said):
        said = re.sub(r"^(fastsdt-trace: [^:]*):.*", r"\1", said, flags=re.M)  # a message's reason has paths, and is shortened
        return re.sub(r"(average |total |\+|^\]: |us: )\d+", r"\1N", said, flags=re.M).strip()

    ran += 1
    if mask(result.stdout) != mask(shown) or result.returncode:
        err = open("err").read() if "err" in command or "2>" in command else ""
        problems.append(f"{command}: status {result.returncode}\n--- shown\n{shown}\n--- printed\n{result.stdout}{err}")
sys.exit("\n".join(problems) or (ran < 5 and "too few commands"))
