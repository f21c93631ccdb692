# SPDX-License-Identifier: BSD-2-Clause
"""Stacks as Python's own types, and the flame graph that they make: the one of `fastsdt-trace report`."""
import functools
import json
import os
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

_FRAME = re.compile(r"([0-9a-f]+) (?:(.*) \(inlined\)|(.*?)(?:\+(\d+))? \((.*)\))", re.S)


class Frame(NamedTuple):
    """A call of a stack."""
    name: str      #: of the function; "0x7f0012345678" where no symbol is
    offset: int    #: of the address from the function's first
    file: str      #: that the code is in; "unknown": of none
    address: int   #: where the call goes on
    inlined: bool  #: the code is in that of the next frame, whose address this is

    def __str__(self) -> str:
        return self.name + ("_[i]" if self.inlined else "")


class Stack(Tuple[Frame, ...]):
    """Calls, the innermost first."""

    def __str__(self) -> str:
        """As flame graphs have it: "main;work;step"."""
        return ";".join(str(frame) for frame in reversed(self))

    def __repr__(self) -> str:
        return f"<fastsdt.Stack {self}>"


def stack_of(text: str) -> Stack:
    """@param text  a line for each frame; where the script says how stacks look, a frame is that line alone"""
    frames = []
    for line in text.splitlines():
        found = _FRAME.fullmatch(line)
        if not found:
            frames.append(Frame(line, 0, "unknown", 0, False))
            continue
        address, inlined, name, offset, file = found.groups()
        frames.append(Frame(inlined or name, int(offset or 0), file or "", int(address, 16), bool(inlined)))
    return Stack(frames)


@functools.lru_cache(maxsize=None)
def _page() -> str:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html"), encoding="utf-8") as file:
        return file.read()


def _tree(stacks: Iterable[Tuple[Stack, int]]) -> Dict[str, List[Any]]:
    """A row for each frame under each of its callers, as the page wants it."""
    rows: Dict[Tuple[int, str], int] = {}
    names: List[str] = []
    parents: List[int] = []
    times: List[int] = []
    for stack, value in stacks:
        parent = -1
        for frame in reversed(stack):
            row = rows.setdefault((parent, str(frame)), len(rows))
            if row == len(names):
                names.append(str(frame))
                parents.append(parent)
                times.append(0)
            times[row] += value
            parent = row
    return {"functions": list(range(len(names))), "names": names, "parents": parents, "calls": [0] * len(names), "times": times}


def flame_graph(title: str, unit: str, stacks: Iterable[Tuple[Stack, int]]) -> str:
    """A page that needs no network. @param unit  of the widths, one of them: hit"""
    data = json.dumps({"only": {"title": title, "unit": unit}, "samples": _tree(stacks)})
    before, _, after = _page().partition("@DATA@")
    return before + data.replace("<", "\\u003c") + after


def in_frame(page: str) -> str:
    """A page within another one, whose styles and scripts are apart."""
    text = page.replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe srcdoc="{text}" title="Flame graph" style="width: 100%; height: 480px; border: 0"></iframe>'
