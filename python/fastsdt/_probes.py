# SPDX-License-Identifier: BSD-2-Clause
"""Probes of a Python program. Each is a shared object of its own, in memory: probes.so, as the compiler made it of fastsdt.h, but for its notes:
those of one function are left, under the names of the probe. docs/format.md of fastsdt describes them."""
import ctypes
import fcntl
import functools
import keyword
import os
import re
import struct
import sys
from typing import Any, Callable, Dict, Iterator, NamedTuple, Tuple


class _Kind(NamedTuple):
    size: int    # as notes have it: negative if signed
    in_c: str    # the name of the type
    passes: Any  # for ctypes
    value: str = "{0}"  # an expression for what is passed


_TEXT = _Kind(8, "const char *", ctypes.c_char_p, "{0}.encode('utf-8', 'replace') if _isinstance({0}, _str) else {0}")
_KINDS: Dict[type, _Kind] = {
    int: _Kind(-8, "long", ctypes.c_int64),
    bool: _Kind(1, "bool", ctypes.c_bool),
    float: _Kind(8, "double", ctypes.c_int64, "_to_integer(_from_double({0}))[0]"),  # its bits, as fastsdt.h passes them
    str: _TEXT,
    bytes: _TEXT,
}
_from_double, _to_integer = struct.Struct("=d").pack, struct.Struct("=q").unpack
_MOST = 12  # arguments, as in fastsdt.h


class _Note(NamedTuple):
    owner: bytes  # with its NUL
    type: int
    descriptor: bytes

    def bytes(self) -> "bytes":
        return struct.pack("=3I", len(self.owner), len(self.descriptor), self.type) + self.owner + self.descriptor + bytes(-len(self.descriptor) % 4)


class _Template:
    """probes.so. Its numbers have this machine's size and byte order, as it is for this machine."""

    def __init__(self) -> None:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes.so"), "rb") as file:
            self.file = file.read()
        headers, = struct.unpack_from("=Q", self.file, 0x28)                  # Elf64_Ehdr.e_shoff
        size, count, texts = struct.unpack_from("=3H", self.file, 0x3A)       # e_shentsize, e_shnum, e_shstrndx
        self._where = {}  # of each section: the offset of its header, of its contents, and its size
        for at in range(headers, headers + count * size, size):
            name, = struct.unpack_from("=I", self.file, at)                   # Elf64_Shdr.sh_name
            self._where[self._text(struct.unpack_from("=Q", self.file, headers + texts * size + 0x18)[0] + name)] = (
                at, *struct.unpack_from("=2Q", self.file, at + 0x18))         # sh_offset, sh_size

    def _text(self, at: int) -> str:
        return self.file[at:self.file.index(b"\0", at)].decode()

    def notes(self, section: str) -> Iterator[_Note]:
        _, at, size = self._where[section]
        end = at + size
        while at < end:
            owner, length, kind = struct.unpack_from("=3I", self.file, at)
            start = at + 12 + owner + -owner % 4
            yield _Note(self.file[at + 12:at + 12 + owner], kind, self.file[start:start + length])
            at = start + length + -length % 4

    def with_notes(self, notes: Dict[str, _Note]) -> bytes:
        """The file, with one note in each of these sections."""
        file = bytearray(self.file)
        for section, note in notes.items():
            file += bytes(-len(file) % 4)
            contents = note.bytes()
            struct.pack_into("=2Q", file, self._where[section][0] + 0x18, len(file), len(contents))
            file += contents
        return bytes(file)


@functools.lru_cache(maxsize=None)
def _template() -> _Template:
    return _Template()


def _make(provider: str, name: str, kinds: Tuple[_Kind, ...], names: Tuple[str, ...]) -> Tuple[bytes, int]:
    """The object of a probe, and the address of its semaphore in it. @param names  of the arguments, perhaps empty"""
    template = _template()
    function = b"probe\0call%d\0" % len(kinds)
    stapsdt = next(note for note in template.notes(".note.stapsdt") if note.descriptor[24:].startswith(function))
    pc, _, semaphore = struct.unpack_from("=3Q", stapsdt.descriptor)
    layout = next(note for note in template.notes(".note.fastsdt") if struct.unpack_from("=Q", note.descriptor, 8)[0] == pc)
    sizes = iter(kinds)
    operands = re.sub(rb"-8@", lambda _: b"%d@" % next(sizes).size, stapsdt.descriptor[24 + len(function):])
    named = next(template.notes(".note.fastsdt.names"))
    texts = [provider, name, *(text for kind, of in zip(kinds, names) for text in (kind.in_c, of)), ""]
    return template.with_notes({
        ".note.stapsdt": stapsdt._replace(descriptor=stapsdt.descriptor[:24] + f"{provider}\0{name}\0".encode() + operands),
        ".note.fastsdt": layout,
        ".note.fastsdt.names": named._replace(descriptor=named.descriptor[:1] + bytes((len(kinds), 0, 0)) + "\0".join(texts).encode())}), semaphore


class Probe:
    """A probe; call it with what its tracers are to see. While nobody traces it, a call reads a word of memory and no more."""

    __slots__ = ("provider", "name", "_active", "_hit")

    def __init__(self, provider: str, name: str, active: ctypes.c_uint16, hit: Callable[..., None]) -> None:
        self.provider, self.name, self._active, self._hit = provider, name, active, hit

    __call__: Callable[..., None]

    @property
    def enabled(self) -> bool:
        """Whether somebody traces it."""
        return self._active.value != 0

    def __repr__(self) -> str:
        return f"<fastsdt.Probe {self.provider}:{self.name}{', enabled' if self.enabled else ''}>"


def _class_of(parameters: Tuple[str, ...], kinds: Tuple[_Kind, ...]) -> type:
    """Python counts the arguments of each call by itself. With -X dev each call is a hit, so that their types are looked at too."""
    condition = "True" if sys.flags.dev_mode else "_probe._active.value"
    values = ", ".join(kind.value.format(parameter) for parameter, kind in zip(parameters, kinds))
    # An argument may have the name of anything, but begins with no _.
    scope: Dict[str, Any] = {"_from_double": _from_double, "_to_integer": _to_integer, "_isinstance": isinstance, "_str": str}
    exec(f"def __call__(_probe, {', '.join(parameters)}):\n    if {condition}:\n        _probe._hit({values})", scope)
    return type("Probe", (Probe,), {"__slots__": (), "__call__": scope["__call__"], "__module__": Probe.__module__})


_last_file = 2


def _file(name: str, contents: bytes) -> int:
    """A file in memory. Tracers open it by its descriptor, so it stays open. Nothing is left of it when the process has ended."""
    global _last_file
    first = os.memfd_create(name)
    try:
        with open(first, "wb", closefd=False) as out:
            out.write(contents)
        # No number twice, also if somebody has closed the descriptor: dlopen() knows an object by its path.
        _last_file = fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, _last_file + 1)
    finally:
        os.close(first)
    return _last_file


@functools.lru_cache(maxsize=None)  # a second object of the same probe would be a second site
def _probe(provider: str, name: str, types: Tuple[type, ...], names: Tuple[str, ...]) -> Probe:
    kinds = tuple(_KINDS[one] for one in types)
    contents, semaphore = _make(provider, name, kinds, names or ("",) * len(kinds))
    file = _file(f"{provider}:{name}", contents)
    # It keeps Python's lock: a hit is over before another thread could be given it.
    shared = ctypes.PyDLL(f"/proc/{os.getpid()}/fd/{file}")
    base = shared.base
    base.restype = ctypes.c_size_t
    call = shared[f"call{len(kinds)}"]
    call.restype, call.argtypes = None, [kind.passes for kind in kinds]
    kind = _class_of(names or tuple(f"arg{i}" for i in range(len(kinds))), kinds)
    made: Probe = kind(provider, name, ctypes.c_uint16.from_address(base() + semaphore), call)
    return made


class Provider:
    def __init__(self, name: str) -> None:
        self.name = _word(name)

    def probe(self, name: str, /, *types: type, **named: type) -> Probe:
        """A probe with arguments of these types: int (64 bits), bool, float, str or bytes (up to their first NUL). With names,
        probe("order", id=int, item=str), scripts may say args.id. The same names and types once more give the same probe."""
        if types and named:
            raise TypeError("either all arguments have names, or none")
        types = types or tuple(named.values())
        if len(types) > _MOST:
            raise ValueError(f"a probe has at most {_MOST} arguments, not {len(types)}")
        for one in types:
            if one not in _KINDS:
                raise TypeError(f"{one!r} is none of {', '.join(known.__name__ for known in _KINDS)}")
        return _probe(self.name, _word(name), types, tuple(_argument(one) for one in named))


def _word(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{name!r} is no word of letters, digits and _: tracers could not ask for it")
    return name


def _argument(name: str) -> str:
    if name.startswith("_") or keyword.iskeyword(name):
        raise ValueError(f"{name!r} cannot be the name of an argument in Python")
    return _word(name)


def provider(name: str) -> Provider:
    """Probes of this name: provider("shop").probe("order", int, str) is usdt:*:shop:order."""
    return Provider(name)
