#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the examples of docs/install.md into folders: ways.py INSTALL.MD DIR.

Each section with a block of commands becomes DIR/NN/: the section's files, app.c of "From source", and run.sh. Its title goes to
DIR/NN/title."""
import os, re, sys

text = open(sys.argv[1]).read()
app = ""
number = 0
for section in re.split(r"^## ", text, flags=re.M)[1:]:
    title = section.split("\n", 1)[0]
    blocks = re.findall(r"^```(\S+) ?(\S*)\n(.*?)^```$", section, flags=re.M | re.S)
    for _, name, body in blocks:
        if name == "app.c":
            app = body
    commands = [body for language, name, body in blocks if language == "sh"]
    if not commands:
        continue
    number += 1
    folder = os.path.join(sys.argv[2], "%02d" % number)
    files = {"app.c": app, "title": title + "\n", "run.sh": "set -eu\n" + "".join(commands)}
    files.update({name: body for _, name, body in blocks if name})
    for name, body in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write(body)
