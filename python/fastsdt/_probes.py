# SPDX-License-Identifier: BSD-2-Clause
"""Probes of a Python program, made by libfastsdt-probes: each is a provider of its own there, since it can be used at once."""
import ctypes
import functools
import keyword
import os
import re
import struct
import sys
from typing import Any, Callable, Dict, NamedTuple, Tuple

from ._library import path_of


class _Kind(NamedTuple):
    in_c: str    # the name of the type
    passes: Any  # for ctypes
    value: str = "{0}"  # an expression for what is passed


_TEXT = _Kind("const char *", ctypes.c_char_p, "{0}.encode('utf-8', 'replace') if _isinstance({0}, _str) else {0}")
_KINDS: Dict[type, _Kind] = {
    int: _Kind("long", ctypes.c_int64),
    bool: _Kind("bool", ctypes.c_bool),
    float: _Kind("double", ctypes.c_int64, "_to_integer(_from_double({0}))[0]"),  # its bits, as fastsdt.h passes them
    str: _TEXT,
    bytes: _TEXT,
}
_from_double, _to_integer = struct.Struct("=d").pack, struct.Struct("=q").unpack
_MOST = 12  # arguments, as in fastsdt.h


class _Error(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("what", ctypes.c_char * 512), ("where", ctypes.c_char * 1024), ("cure", ctypes.c_char * 256)]


_MEMORY = 3  # FASTSDT_PROBES_MEMORY


_error = ctypes.POINTER(_Error)
_FUNCTIONS: Dict[str, Tuple[Any, ...]] = {  # of each: the result, the arguments
    "fastsdt_probes_new": (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint, _error),
    "fastsdt_probes_add": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, _error),
    "fastsdt_probes_load": (ctypes.c_int, ctypes.c_void_p, _error),
    "fastsdt_probes_path": (ctypes.c_char_p, ctypes.c_void_p),
    "fastsdt_probe_site": (ctypes.c_void_p, ctypes.c_void_p),
}


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    """What <fastsdt/probes.h> declares."""
    library = ctypes.CDLL(path_of("libfastsdt-probes.so.0"))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Probe:
    """A probe; call it with what its tracers are to see. While nobody traces it, a call reads a word of memory and no more."""

    __slots__ = ("provider", "name", "_active", "_hit", "_made")

    def __init__(self, provider: str, name: str, active: ctypes.c_uint16, hit: Callable[..., None]) -> None:
        self.provider, self.name, self._active, self._hit = provider, name, active, hit

    __call__: Callable[..., None]
    _made: int  # the library's provider

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


@functools.lru_cache(maxsize=None)  # a second object of the same probe would be a second site
def _probe(provider: str, name: str, types: Tuple[type, ...], names: Tuple[str, ...]) -> Probe:
    library, error = _library(), _Error()
    kinds = tuple(_KINDS[one] for one in types)
    arguments = ", ".join(f"{kind.in_c} {of}" for kind, of in zip(kinds, names or ("",) * len(kinds)))
    # A provider with the one probe: the others are loaded by now. It stays until the process ends.
    made = library.fastsdt_probes_new(provider.encode(), 0, ctypes.byref(error))
    added = made and library.fastsdt_probes_add(made, name.encode(), arguments.encode(), ctypes.byref(error))
    if not added or library.fastsdt_probes_load(made, ctypes.byref(error)) != 0:
        if error.kind == _MEMORY:
            raise MemoryError
        raise OSError(f"{os.fsdecode(error.where)}: {os.fsdecode(error.what)}")
    # It keeps Python's lock: a hit is over before another thread could be given it.
    call = ctypes.PYFUNCTYPE(None, *(kind.passes for kind in kinds))(library.fastsdt_probe_site(added))
    active = ctypes.c_uint16.from_address(ctypes.c_void_p.from_address(added).value or 0)  # the first member of fastsdt_probe
    kind = _class_of(names or tuple(f"arg{i}" for i in range(len(kinds))), kinds)
    probe: Probe = kind(provider, name, active, call)
    probe._made = made
    return probe


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
