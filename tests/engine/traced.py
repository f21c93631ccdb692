# SPDX-License-Identifier: BSD-2-Clause
"""What has to be the same again in a process that was traced."""
import os
import re


class Traced:
    def __init__(self, pid):
        self.pid = pid

    def mappings(self):
        """(start, end, protection, offset, inode, name) each, without the heap, which the C library makes larger."""
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as lines:
            for line in lines:
                m = re.match(r"(\w+)-(\w+) (....) (\w+) \S+ (\d+) *(.*)", line)
                if m.group(6) != "[heap]":
                    yield int(m.group(1), 16), int(m.group(2), 16), m.group(3), int(m.group(4), 16), int(m.group(5)), m.group(6)

    def text_differs(self):
        """Names of files whose code in memory is not what the file has."""
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            for start, end, protection, offset, inode, name in self.mappings():
                if "x" not in protection or not inode:
                    continue
                memory.seek(start)
                now = memory.read(end - start)
                with open(f"/proc/{self.pid}/map_files/{start:x}-{end:x}", "rb") as file:
                    file.seek(offset)
                    if now != file.read(end - start).ljust(end - start, b"\0"):
                        yield name

    def vdso(self):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            for start, end, _, _, _, name in self.mappings():
                if name == "[vdso]":
                    memory.seek(start)
                    return memory.read(end - start)
        return b""

    def descriptors(self):
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            yield f"{number} {os.readlink(f'/proc/{self.pid}/fd/{number}')}"

    def state(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as lines:
            shared = [line for line in lines if line.startswith("RssShmem")]
        return {"mappings": list(self.mappings()), "RssShmem": shared, "vdso": self.vdso(), "files with other text": list(self.text_differs()),
                "descriptors": list(self.descriptors())}


def difference(before, after):
    """A sentence on the first thing in which two states differ, or None."""
    for name, value in before.items():
        if after[name] != value:
            gone, come = ([x for x in a if x not in b] for a, b in ((value, after[name]), (after[name], value))) if isinstance(value,
                list) else (value, after[name])
            return f"{name}: gone {gone}, come {come}"
    return None
