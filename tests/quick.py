#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""quick.py BUILD <FILES: which tests a change of these files makes fail most likely, for scripts/test.sh --quick: lines "test NAME",
and "target NAME", what these need built. BUILD is configured."""
import json
import os
import re
import subprocess
import sys
import tempfile

READER = "fastsdt-check fastsdt-dtrace fastsdt-index fastsdt_reader_api"
TOOLS = READER + " fastsdt-probe gcc-plugin/all"
ENGINE = TOOLS + " fastsdt-trace fastsdt_trace_api fastsdt_probes_api fastsdt_stapsdt"
PLUGINS = TOOLS + " llvm-pass/all"
# A change in FOLDER; the folders of tests/ that it concerns; what their scripts need besides what is built there. The longest FOLDER counts, and
# tests/NAME concerns itself.
AFFECTED = [
    ("include/", "header recognize lib check reader", TOOLS),
    ("lib/", "lib check linker fuzz reader", READER),
    ("reader/", "reader check fuzz", READER),
    ("lib/kernel/", "lib check kernel", READER),
    ("lib/movable/", "lib check movable", READER),
    ("linker/", "linker fuzz go", READER),
    ("probes/", "probes python", ENGINE),
    ("uprobes/", "uprobes probe", TOOLS),
    ("engine/", "engine", ENGINE),
    ("api/", "engine", ENGINE),
    ("tools/", "tools", ENGINE),
    ("tools/fastsdt-check/", "check tools fuzz", TOOLS),
    ("tools/fastsdt-probe/", "probe tools", TOOLS),
    ("tools/fastsdt-trace/", "engine serve tools", ENGINE),
    ("tools/fastsdt-dtrace/", "dtrace tools", TOOLS),
    ("fastprobe/", "fastprobe", PLUGINS),
    ("gcc-plugin/", "fastprobe", PLUGINS),
    ("llvm-pass/", "fastprobe", PLUGINS),
    ("share/", "share", ENGINE),
    ("python/", "python", ENGINE),
    ("go/", "go docs", ENGINE),
    ("rust/", "rust", ENGINE),
    ("bench/", "bench", ""),
    ("README.md", "docs", ENGINE),
    ("docs/", "docs", ENGINE),
    ("examples/", "docs reader", ENGINE),
    ("scripts/", "scripts", ""),
    (".ci/", "scripts", ""),
    ("packaging/", "scripts", ""),
]
# These take long beside what they are likely to find, or install all that there is to build.
LONG = r"engine\.(arm64|churn|differ|failed|guest_arm64|killed|stress|stubs|tree)|kernel\.(guest|matrix)|linker-(broken|cmake|matrix)|" \
    r"fastprobe\.(matrix|parameters|real|suite-g3|torture|unwind)\..*"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def affected(path):
    """The folders of tests, and targets."""
    parts = path.split("/")
    if parts[0] == "tests" and len(parts) > 2:
        return {parts[1]}, set(ENGINE.split())
    row = max((row for row in AFFECTED if path.startswith(row[0])), key=lambda row: len(row[0]), default=("", "", ""))
    return set(row[1].split()), set(row[2].split())


def main():
    build = os.path.abspath(sys.argv[1])
    folders, targets = set(), set()
    for path in sys.stdin.read().split("\n"):
        more = affected(path)
        folders |= more[0]
        targets |= more[1]
    with tempfile.TemporaryDirectory() as folder: # in BUILD it would begin the log of a run of the tests again
        with open(f"{folder}/CTestTestfile.cmake", "w") as file:
            file.write(f'subdirs("{build}")\n')
        listed = json.loads(output("ctest", "--test-dir", folder, "--show-only=json-v1"))
    chosen = []
    for test in listed["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        folder = os.path.relpath(properties["WORKING_DIRECTORY"], f"{build}/tests").split("/")[0]
        if folder in folders and not re.fullmatch(LONG, test["name"]):
            chosen.append((folder, test["name"]))
    targets |= {f"tests/{folder}/all" for folder, _ in chosen}
    known = set(re.findall(r"^(\S+): ", output("ninja", "-C", build, "-t", "targets", "all"), re.M))
    for target in sorted(targets & known if chosen else []): # a part that cannot be built here has none
        print("target", target)
    for _, name in chosen:
        print("test", name)


if __name__ == "__main__":
    main()
