#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a terminal showed, as a picture: terminal.py <TEXT >FILE.svg. Lines that begin with "$ " or "==" stand out."""
import sys
from xml.sax.saxutils import escape

lines = [line.rstrip().expandtabs() for line in sys.stdin.read().strip("\n").splitlines()]
width, height = max(map(len, lines)) * 7.23 + 32, len(lines) * 17 + 28
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">')
print(f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#161b22"/>')
print('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="12" fill="#c9d1d9">')
for i, line in enumerate(lines):
    color = ' fill="#7ee787"' if line.startswith("$ ") else ' fill="#79c0ff" font-weight="bold"' if line.startswith("==") else ""
    if line:
        print(f'<text x="16" y="{28 + 17 * i}" xml:space="preserve"{color}>{escape(line)}</text>')
print("</g></svg>")
