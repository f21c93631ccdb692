"""readme.py README.md: runs the Python blocks of the file, one after another in one program, and compares what they print with the block
without a language that follows."""
import contextlib
import io
import re
import sys
from pathlib import Path

blocks = re.findall(r"^```(\w*)\n(.*?)^```$", Path(sys.argv[1]).read_text(), re.S | re.M)
names, ran = {"__name__": "__main__"}, 0
for i, (language, text) in enumerate(blocks):
    if language != "python":
        continue
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, f"{sys.argv[1]}, block {i + 1}", "exec"), names)
    ran += 1
    if i + 1 < len(blocks) and blocks[i + 1][0] == "":
        shown, printed = (["".join(line.rstrip()) for line in part.strip("\n").split("\n")] for part in (blocks[i + 1][1], out.getvalue()))
        if shown != printed:
            sys.exit("FAIL: " + text + "--- shown\n" + "\n".join(shown) + "\n--- printed\n" + "\n".join(printed))
    elif out.getvalue():
        sys.exit("FAIL: " + text + "prints what is not shown: " + out.getvalue())
print(f"{ran} blocks of the README")
sys.exit(not ran)
