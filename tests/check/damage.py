# SPDX-License-Identifier: BSD-2-Clause
"""damage.py FROM TO: a copy of a program whose second site's bytes no longer fit its note."""
import re, subprocess, sys

notes = subprocess.run(["readelf", "-nW", sys.argv[1]], capture_output=True, text=True).stdout
pc = [int(x, 16) for x in re.findall(r"Location: (0x[0-9a-f]+)", notes)]
data = bytearray(open(sys.argv[1], "rb").read())
data[pc[1] + 1] = 0x67
open(sys.argv[2], "wb").write(data)
