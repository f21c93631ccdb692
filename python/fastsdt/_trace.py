# SPDX-License-Identifier: BSD-2-Clause
"""Tracing a process: opening, attaching, reading, and putting everything back."""
import ctypes
import os
import select
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, List, NamedTuple, Optional, Set, Tuple, Type

from ._library import EVENT_KINDS, FLAGS, Error, MisuseError, OptionsStruct, RefusedError, library, text_of
from ._maps import Maps, Site, Word, read_maps, word_of
from ._stacks import Stack


class Event(NamedTuple):
    """What printf(), print() and their like in the script recorded at a hit."""
    kind: str    #: "printf", "print", "clear", "zero", "time", "exit", "cat" or "join"
    line: int    #: of the statement in the script, from 1
    column: int  #: in bytes, from 1
    clock: int   #: the processor's counter, by which events are sorted; 0: not known
    map: str     #: "print", "clear", "zero": the name of the map; else ""
    values: Tuple[Word, ...]  #: "printf", "cat": the arguments behind the format, or the printed value; "join": a string, none behind the last

    @property
    def stack(self) -> Optional[Stack]:
        """The first of its values that is one."""
        return next((value for value in self.values if isinstance(value, Stack)), None)

    def __str__(self) -> str:
        return " ".join([self.kind, *([self.map] if self.map else []), *(str(value) for value in self.values)])


def _close_at_exit(handle: int, opener: int) -> None:
    if os.getpid() == opener:  # a forked child has only a copy of the handle
        try:
            library().close(handle)
        except Error:
            pass  # nobody is left to hear of it, and the next tracer can take such sites back


class _Process:
    """Tells whether it has ended. Its number says nothing: it may be another's by then."""

    def __init__(self, pid: int) -> None:
        try:
            self._descriptor = -1 if pid == os.getpid() else os.pidfd_open(pid)
        except OSError as error:  # it has ended just now, or Linux is older than 5.3
            raise RefusedError(f"process {pid}: {error.strerror}") from error

    def has_ended(self) -> bool:
        if self._descriptor < 0:
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def register(self, poll: select.poll) -> None:
        if self._descriptor >= 0:
            poll.register(self._descriptor, select.POLLIN)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            os.close(self._descriptor)


class Trace:
    """A script that is attached to a process; see trace(). All of it may be used from any thread, but not from a forked child."""

    def __init__(self, script: str, pid: Optional[int] = None, *, read_memory: bool = False, move: bool = True, move_faulting: bool = False,
                 buffer: int = 0) -> None:
        self.script = script
        self.pid = os.getpid() if pid is None else pid
        self._opener = os.getpid()
        self._api = library()
        self._lock = threading.RLock()  # a thread must not read what another closes
        self._last = Maps()
        self._sites: List[Site] = []  # when the process was last looked at
        self._missing: List[str] = []  # likewise
        self._always: Optional[Set[int]] = None  # those that were armed whenever it was
        self._last_events: List[Event] = []
        self._lost = 0
        text = script.encode()
        if b"\0" in text:
            raise ValueError("the script has a NUL character in it")
        if not isinstance(self.pid, int):
            tells = f"; `pidof {self.pid}` tells it" if isinstance(self.pid, str) and not self.pid.isdecimal() else ""
            raise TypeError(f"{self.pid!r} is not the number of a process, an int, which pid is{tells}")
        if self.pid <= 0:
            raise ValueError(f"{self.pid} is no process; without pid it is this one")
        handle = self._api.open(self.pid)
        self._finalizer = weakref.finalize(self, _close_at_exit, handle, self._opener)
        try:
            self._process = _Process(self.pid)
            chosen = {"read_memory": read_memory, "no_move": not move, "move_faulting": move_faulting, "addresses": True}
            options = OptionsStruct(ctypes.sizeof(OptionsStruct), sum(flag for flag, name in FLAGS.items() if chosen[name]), buffer)
            self._attachment = self._api.attach_with(handle, text, ctypes.byref(options))
            self._handle: Optional[int] = handle
            self._look()
            self._names: List[str] = list(self._read_maps())
        except BaseException:
            self._handle = None
            self._finalizer()
            raise

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]) -> None:
        self.close()

    @property
    def maps(self) -> Maps:
        """The maps as they are now; after close(), as they were then. Each use reads the process: keep it in a variable to look twice."""
        with self._lock:
            if self._handle is None:
                return self._last
            self._keep_events()
            maps = self._read_maps()
            maps.lost = self._lost
            maps.ended = self._look()
            maps.sites, maps.missing = self._sites, self._missing
            maps.late = sum(site.armed and site.address not in (self._always or ()) for site in self._sites)
            return maps

    @property
    def sites(self) -> List[Site]:
        """All sites that the script names, armed or not, as they are now: somebody else may have changed them. If the process has ended, as they
        were when .sites or .maps was last used before."""
        with self._lock:
            if self._handle is not None:
                self._look()
            return self._sites

    @property
    def complete(self) -> bool:
        """See Maps.complete."""
        return self.maps.complete

    @property
    def lost(self) -> int:
        """Events that found no room so far."""
        with self._lock:
            if self._handle is not None:
                self._keep_events()
            return self._lost

    def events(self) -> List[Event]:
        """The events since the last call, in their order. It does not wait. Each thread has room for 64 KiB: where much is recorded, call it
        several times a second. Who reads .maps gets events too, which are kept here until this is called."""
        with self._lock:
            if self._handle is not None:
                self._keep_events()
            events, self._last_events = self._last_events, []
            return events

    def fileno(self) -> int:
        """For select, poll and event loops: readable when events() has some. It is the library's: do not read or close it."""
        with self._lock:
            number: int = self._api.events_descriptor(self._attached())
            return number

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Until events() has some. False: there were none for so many seconds, or the process has ended and there are no more."""
        if self._last_events:  # kept by .maps
            return True
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        self._process.register(poll)
        ready = dict(poll.poll(None if timeout is None else timeout * 1000))
        return self.fileno() in ready

    def clear(self, name: Optional[str] = None) -> None:
        """Empties the map of this name, or all of them, while the process goes on."""
        with self._lock:
            attachment = self._attached()
            if name is not None and name not in self._names:
                raise KeyError(f"{name}: the script has {', '.join(self._names) or 'no map'}")
            for index in range(len(self._names)) if name is None else [self._names.index(name)]:
                self._api.clear(attachment, index)

    def update(self) -> None:
        """Arms what can be armed since a library was loaded, or since another tracer let a site go."""
        with self._lock:
            self._api.update(self._attached())

    def close(self) -> None:
        """Reads maps, sites and events for the last time and puts the bytes of all sites back. BusyError: call it again. It is no error if the
        process has ended. Hits between the last reading and the end are not counted."""
        if os.getpid() != self._opener:  # a forked child has nothing to put back, and the lock may be another thread's for ever
            return
        with self._lock:
            if self._handle is None:
                return
            try:
                self._last = self.maps
            finally:
                self._api.close(self._handle)
                self._handle = None
                self._finalizer.detach()

    def __str__(self) -> str:
        return str(self.maps)

    def __repr__(self) -> str:
        try:
            state = self.maps.summary()
        except Error as error:
            state = str(error)
        return f"<fastsdt.Trace of process {self.pid}: {state}>"

    def _repr_html_(self) -> str:
        return self.maps._repr_html_()

    def _attached(self) -> int:
        if self._handle is None:
            raise MisuseError("the trace is closed")
        attachment: int = self._attachment
        return attachment

    def _with(self, read: Callable[..., int], use: Callable[[int], Any], free: Callable[[int], None]) -> Any:
        handle = read(self._attached())
        try:
            return use(handle)
        finally:
            free(handle)

    def _look(self) -> bool:
        """Reads the sites. Returns whether the process has ended; then there is nothing to look at."""
        def read_sites(read: int) -> Tuple[List[Site], List[str]]:
            told: List[str] = []
            while (sentence := self._api.sites_missing(read, len(told))) is not None:
                told.append(text_of(sentence))
            sites = (self._api.sites_get(read, i).contents for i in range(self._api.sites_count(read)))
            return [Site(text_of(s.probe), s.address, bool(s.armed), text_of(s.reason), s.state, bool(s.left_out)) for s in sites], told
        try:
            sites, missing = self._with(self._api.sites_read, read_sites, self._api.sites_free)
        except RefusedError:
            if self._process.has_ended():
                return True
            raise
        if self._process.has_ended():  # maybe while it was looked at
            return True
        armed = {site.address for site in sites if site.armed}
        self._always = armed if self._always is None else self._always & armed
        self._sites, self._missing = sites, missing
        return False

    def _read_maps(self) -> Maps:
        return read_maps(self._api, self._api.maps_read(self._attached()))

    def _keep_events(self) -> None:
        api = self._api

        def read_events(read: int) -> None:
            for i in range(api.events_count(read)):
                e = api.events_get(read, i).contents
                kind = EVENT_KINDS.get(e.kind, str(e.kind))
                name = self._names[e.map] if kind in ("print", "clear", "zero") else ""
                values = tuple(word_of(e.value[v], api.events_value_kind(read, i, v)) for v in range(e.values))
                self._last_events.append(Event(kind, e.line, e.column, e.clock, name, values))
            self._lost = api.events_lost(read)
        self._with(api.events_read, read_events, api.events_free)


def trace(script: str, pid: Optional[int] = None, *, read_memory: bool = False, move: bool = True, move_faulting: bool = False,
          buffer: int = 0) -> Trace:
    """Attaches a script to a process: another one, or this one without `pid`. fastsdt-trace(1) has the language, without BEGIN, END and
    interval. It is no error if a site cannot be armed, or if there is none: look at .complete and .sites, or print the maps.

    Where the process may set a seccomp filter, and every Python with ctypes may, strings on its heap are not read, and such hits are counted as
    unread: the system call that it takes could kill the process. `read_memory`: you know that it sets none.

    Functions of another process need no probes: a jump takes the place of their first instructions. `move=False` leaves those alone;
    `move_faulting` takes also what may raise a signal that the process handles. `buffer`: bytes for the events of each thread.

        with fastsdt.trace("usdt:*:shop:order { @[str(arg1)] = count(); }", pid=4711) as t:
            ...
        print(t.maps)
    """
    return Trace(script, pid, read_memory=read_memory, move=move, move_faulting=move_faulting, buffer=buffer)
