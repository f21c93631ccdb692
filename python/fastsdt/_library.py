# SPDX-License-Identifier: BSD-2-Clause
"""libfastsdt-trace by ctypes: what <fastsdt/trace.h> declares. tests/python compares the numbers and structures with that header."""
import ctypes
import functools
import os
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, Callable, Dict, Type

SONAME = "libfastsdt-trace.so.0"

MAP_KINDS = {1: "count", 2: "sum", 3: "min", 4: "max", 5: "avg", 6: "stats", 7: "hist", 8: "lhist", 9: "integer", 10: "string"}
EVENT_KINDS = {1: "printf", 2: "print", 3: "clear", 4: "zero", 5: "time", 6: "exit", 7: "cat", 8: "join"}
VALUE_KINDS = {1: "number", 2: "text", 3: "stack", 4: "probe"}
FLAGS = {1: "read_memory", 2: "no_move", 4: "move_faulting", 8: "addresses"}


class Error(Exception):
    """What the library refuses, in its own words: why, and what to do."""


class ScriptError(Error):
    """The script is wrong, or the library cannot do it. `line` and `column` are of the script, in bytes from 1."""

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{line}:{column}: {text}" if line else text)
        self.line, self.column = line, column


class RefusedError(Error):
    """The process cannot be traced, or no longer."""


class MisuseError(Error):
    """A call that makes no sense here."""


class BusyError(Error):
    """Threads are in the way: call again."""


ERROR_KINDS: Dict[int, Type[Exception]] = {1: ScriptError, 2: RefusedError, 3: MisuseError, 4: BusyError, 5: MemoryError}


class ErrorStruct(ctypes.Structure):
    _fields_ = [("kind", c_int), ("line", c_uint), ("column", c_uint), ("text", c_char * 500), ("reserved", c_char * 512)]


class OptionsStruct(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint), ("buffer", c_size_t)]


class SiteStruct(ctypes.Structure):
    _fields_ = [("probe", c_char_p), ("address", c_size_t), ("armed", c_int), ("reason", c_char_p), ("state", c_int),
                ("left_out", c_int)]


class MapStruct(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("is_signed", c_int), ("keys", c_size_t), ("entries", c_size_t), ("buckets", c_size_t)]


class ValueStruct(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("number", c_int64)]


class EntryStruct(ctypes.Structure):
    _fields_ = [("key", POINTER(ValueStruct)), ("value", ValueStruct), ("total", c_int64), ("count", c_uint64), ("bucket", POINTER(c_uint64))]


class EventStruct(ctypes.Structure):
    _fields_ = [("kind", c_int), ("line", c_uint), ("column", c_uint), ("clock", c_uint64), ("map", c_size_t), ("values", c_size_t),
                ("value", POINTER(ValueStruct))]


# Of each function: the result, the arguments. With an ErrorStruct at the end, NULL or -1 is an error.
_error = POINTER(ErrorStruct)
_FUNCTIONS = {
    "open": (c_void_p, c_int, _error),
    "close": (c_int, c_void_p, _error),
    "attach_with": (c_void_p, c_void_p, c_char_p, POINTER(OptionsStruct), _error),
    "update": (c_int, c_void_p, _error),
    "sites_read": (c_void_p, c_void_p, _error),
    "sites_count": (c_size_t, c_void_p),
    "sites_get": (POINTER(SiteStruct), c_void_p, c_size_t),
    "sites_missing": (c_char_p, c_void_p, c_size_t),
    "sites_free": (None, c_void_p),
    "maps_read": (c_void_p, c_void_p, _error),
    "maps_count": (c_size_t, c_void_p),
    "maps_get": (POINTER(MapStruct), c_void_p, c_size_t),
    "maps_entry": (POINTER(EntryStruct), c_void_p, c_size_t, c_size_t),
    "maps_key_kind": (c_int, c_void_p, c_size_t, c_size_t),
    "maps_value_kind": (c_int, c_void_p, c_size_t),
    "maps_pprof": (c_void_p, c_void_p, POINTER(c_size_t), _error),
    "maps_bucket": (c_int, c_void_p, c_size_t, c_size_t, POINTER(c_int64), POINTER(c_int64)),
    "maps_dropped": (c_uint64, c_void_p),
    "maps_unread": (c_uint64, c_void_p),
    "maps_unread_reason": (c_char_p, c_void_p),
    "maps_free": (None, c_void_p),
    "clear": (c_int, c_void_p, c_size_t, _error),
    "events_read": (c_void_p, c_void_p, _error),
    "events_count": (c_size_t, c_void_p),
    "events_get": (POINTER(EventStruct), c_void_p, c_size_t),
    "events_value_kind": (c_int, c_void_p, c_size_t, c_size_t),
    "events_descriptor": (c_int, c_void_p, _error),
    "events_lost": (c_uint64, c_void_p),
    "events_free": (None, c_void_p),
}


def _checked(function: Callable[..., Any], failure: Any) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        error = ErrorStruct()
        result = function(*arguments, ctypes.byref(error))
        if result != failure:
            return result
        text = text_of(error.text)
        kind = ERROR_KINDS.get(error.kind, Error)
        raise kind(text, error.line, error.column) if kind is ScriptError else kind(text)
    return call


class Library:
    """fastsdt_trace_NAME() is .NAME(); errors are exceptions. ctypes lets other threads run while a call lasts."""

    def __init__(self, path: str) -> None:
        shared = ctypes.CDLL(path)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(shared, "fastsdt_trace_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function if arguments[-1] is not _error else _checked(function, -1 if result is c_int else None))

    def __getattr__(self, name: str) -> Callable[..., Any]:  # what is not there; for type checkers, all of them
        raise AttributeError(name)


def path_of(soname: str) -> str:
    """The library that is installed with this package, else the one that the dynamic linker finds."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), soname)
    return inside if os.path.exists(inside) else soname


@functools.lru_cache(maxsize=None)
def library() -> Library:
    """Only tracing needs it."""
    return Library(path_of(SONAME))


def text_of(text: bytes) -> str:
    """A process may have put any bytes into a text: those that are no UTF-8 come as os.fsdecode() has them, so that no two texts become one."""
    return text.decode("utf-8", "surrogateescape")
