# SPDX-License-Identifier: BSD-2-Clause
"""What a script has recorded, as Python's own types and as text."""
import ctypes
import gzip
import html
import weakref
from ctypes import byref, c_int64
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from ._library import MAP_KINDS, VALUE_KINDS, EntryStruct, Library, MisuseError, ValueStruct, text_of
from ._stacks import Stack, flame_graph, in_frame, stack_of

if TYPE_CHECKING:
    import pandas

MASK = 2**64 - 1


class Site(NamedTuple):
    """A place in the code that the script names, and what became of it."""
    probe: str    #: "usdt:/path/of/file:provider:name"
    address: int  #: in the process
    armed: bool
    reason: str   #: why it is not armed; a sentence of which the site is the subject
    state: int    #: FASTSDT_TRACE_SITE_* of <fastsdt/trace.h>
    left_out: bool = False  #: it fits a pattern of functions and cannot be armed: a pattern means those that can


class Bucket(NamedTuple):
    low: int
    high: int  #: inclusive
    count: int  # type: ignore[assignment]  # not tuple.count()

    def label(self) -> str:
        def short(number: int) -> str:
            unit = 0
            while number and number % 1024 == 0:
                number, unit = number // 1024, unit + 1
            return f"{number}{' KMGTPE'[unit].strip()}"
        if self.low == -2**63:
            return f"(..., {short(self.high + 1)})"
        if self.high == 2**63 - 1:
            return f"[{short(self.low)}, ...)"
        return f"[{self.low}]" if self.low == self.high else f"[{short(self.low)}, {short(self.high + 1)})"


class Histogram(Tuple[Bucket, ...]):
    """The buckets of hist() or lhist() from the first to the last that counted anything."""

    @property
    def count(self) -> int:  # type: ignore[override]  # how many values, as of the other kinds; not tuple.count()
        return sum(bucket.count for bucket in self)

    def __str__(self) -> str:
        most = max((bucket.count for bucket in self), default=1)
        return "\n".join(f"{bucket.label():<16}{bucket.count:>8} |{'@' * (bucket.count * 52 // most):<52}|" for bucket in self)

    def _repr_html_(self) -> str:
        most = max((bucket.count for bucket in self), default=1)
        return "<table>" + "".join(
            f"<tr><td>{bucket.label()}</td><td>{bucket.count}</td>"
            f'<td style="text-align: left"><div style="background: #4c78a8; height: 1em; width: {bucket.count * 200 // most}px"></div></td></tr>'
            for bucket in self) + "</table>"


class Stats(NamedTuple):
    """Of avg() and stats(). The average is rounded towards zero, as bpftrace has it; total / count is the exact one."""
    count: int  # type: ignore[assignment]  # not tuple.count()
    average: int
    total: int

    def __str__(self) -> str:
        return f"count {self.count}, average {self.average}, total {self.total}"


Word = Union[int, str, Stack]
Key = Union[Word, Tuple[Word, ...]]
Value = Union[int, str, Stack, Stats, Histogram]


class Map(Dict[Key, Value]):
    """A map with keys: an int or a str, or a tuple if there are several. Its entries come in the order of their keys."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__()
        self.name = name  #: with its "@"
        self.kind = kind  #: "count", "sum", "min", "max", "avg", "stats", "hist", "lhist", "integer" or "string"

    def __str__(self) -> str:
        return "\n".join(lines_of(self.name, self.kind, self))

    def flame_graph(self) -> str:
        """A page of HTML with a flame graph, of counts and sums by one stack (and other keys, which are added up). It needs no network."""
        stacks = self._stacks()
        if not stacks:
            raise MisuseError(f"{self.name}: a flame graph is of counts and sums by one stack, @[ustack] = count(), and there are none")
        return flame_graph(self.name, "hit" if self.kind == "count" else "unit", stacks)

    def _stacks(self) -> List[Tuple[Stack, int]]:
        found = []
        for key, value in self.items():
            stacks = [word for word in words_of(key) if isinstance(word, Stack)]
            if self.kind not in ("count", "sum") or len(stacks) != 1 or not isinstance(value, int):
                return []
            found.append((stacks[0], value))
        return found

    def _repr_html_(self) -> str:
        if self._stacks():
            return f"<p>{html.escape(self.name)}</p>" + in_frame(self.flame_graph())
        rows = "".join(f"<tr><th>{html.escape(shown(key))}</th><td>{html_of(value)}</td></tr>" for key, value in self.by_value())
        return f"<table><caption>{html.escape(self.name)}</caption>{rows}</table>"

    def by_value(self) -> List[Tuple[Key, Value]]:
        """The entries by their values, the largest last, as bpftrace prints them; texts by their keys."""
        return sorted(self.items(), key=rank)

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for each entry, or for each bucket: columns key (key1, key2, ... if there are several), then what a value has."""
        import pandas
        rows: List[Dict[str, Any]] = []
        for key, value in self.items():
            keys: Dict[str, Any] = {"key": key} if words_of(key) == (key,) else {f"key{i}": word for i, word in enumerate(words_of(key), 1)}
            if isinstance(value, Histogram):
                rows += [{**keys, **bucket._asdict()} for bucket in value]
            else:
                rows.append({**keys, **(value._asdict() if isinstance(value, Stats) else {"value": value})})
        return pandas.DataFrame(rows)


class Read:
    """What the library has read, until nobody has this any more. A copy of maps has the same; what is pickled has none."""

    def __init__(self, api: Library, handle: int) -> None:
        self.api, self.handle = api, handle

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Read":
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(None), ()


class Maps(Dict[str, Union[Map, Value, None]]):
    """The maps of a script by their names, as they were when they were read, and what they lack.
    A map without keys is its one value. Before its first hit a count or sum is 0, a histogram empty, and what has no such value None."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: Dict[str, str] = {}  #: as Map.kind has it, also of the maps without keys
        self.sites: List[Site] = []      #: all that the script names
        self.missing: List[str] = []     #: probes that mean nothing in the process: a sentence each, with what there is instead
        self.dropped = 0  #: hits, or their statements, that found no room or were not delivered
        self.unread = 0   #: hits that were not recorded for a value that only a system call can read
        self.unread_reason = ""  #: why, if there are any
        self.lost = 0     #: events that found no room
        self.late = 0     #: sites that are armed, but were not whenever they were looked at
        self.ended = False  #: the process has; sites are as they were when they were last looked at
        self._read: Optional[Read] = None  # if a profile can be made of it

    def to_pprof(self) -> bytes:
        """Counts and sums by one stack as a profile that `go tool pprof`, Pyroscope, Grafana and speedscope read: the contents of a file
        NAME.pb.gz. Each such map is a type of sample, and its other keys are labels."""
        if self._read is None:
            if any(isinstance(value, Map) and value._stacks() for value in self.values()):
                raise MisuseError("what was pickled has its counts by stack without what a profile needs: to_pprof() comes before")
            raise MisuseError("a profile is of counts and sums by stack, @[ustack] = count(), and the script has none")
        api, handle = self._read.api, self._read.handle
        size = ctypes.c_size_t()
        return gzip.compress(ctypes.string_at(api.maps_pprof(handle, byref(size)), size.value))

    @property
    def complete(self) -> bool:
        """Nothing is known to be missing: there are sites, all were armed all the time, and nothing was dropped, unread or lost."""
        wanted = [site for site in self.sites if not site.left_out]
        return bool(wanted) and all(site.armed for site in wanted) and not (self.missing or self.late or self.dropped or self.unread or self.lost)

    def summary(self) -> str:
        """One line: how complete the maps are."""
        reasons: Dict[str, int] = {}
        wanted = [site for site in self.sites if not site.left_out]
        for site in wanted:
            if not site.armed:
                reasons[site.reason] = reasons.get(site.reason, 0) + 1
        others = [f"{count} {printable(reason)}" for reason, count in reasons.items()] + ([f"{self.late} armed late"] if self.late else [])
        text = f"sites {sum(site.armed for site in wanted)} of {len(wanted)} armed"
        text += (f" ({', '.join(others)})" if others else "") + f"; dropped {self.dropped}"
        text += f"; left out {len(self.sites) - len(wanted)}" if len(wanted) != len(self.sites) else ""
        text += f"; unread {self.unread} ({printable(self.unread_reason)})" if self.unread else ""
        return text + (f"; lost {self.lost}" if self.lost else "") + ("; the process has ended" if self.ended else "") + "".join(
            f"; {printable(sentence)}" for sentence in self.missing)

    def __str__(self) -> str:
        lines: List[str] = []
        for name, value in self.items():
            lines += lines_of(name, self.kinds[name], value)
        return "\n".join(lines + ["", self.summary()])

    def __repr__(self) -> str:
        return f"<{super().__repr__()}; {self.summary()}>"

    def _repr_html_(self) -> str:
        parts = [value._repr_html_() if isinstance(value, Map) else
                 f"<table><caption>{html.escape(name)}</caption><tr><td>{html_of(value)}</td></tr></table>" for name, value in self.items()]
        return "".join(parts) + f"<p>{html.escape(self.summary())}</p>"


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def words_of(key: Key) -> Tuple[Word, ...]:
    if isinstance(key, (int, str, Stack)):
        return (key,)
    return key


def shown(key: Key) -> str:
    return ", ".join(printable(str(word)) for word in words_of(key))


def rank(item: Tuple[Key, Value]) -> int:
    value = item[1]
    if isinstance(value, (Stats, Histogram)):
        return value.average if isinstance(value, Stats) else value.count
    return value if isinstance(value, int) else 0


def html_of(value: Optional[Value]) -> str:
    return value._repr_html_() if isinstance(value, Histogram) else html.escape(printable(str(value)))


def lines_of(name: str, kind: str, value: Union[Map, Value, None]) -> Iterator[str]:
    """As bpftrace prints a map."""
    if isinstance(value, Map):
        for key, one in value.by_value():
            yield from lines_of(f"{name}[{shown(key)}]", kind, one)
    elif isinstance(value, Histogram):
        yield f"{name}:"
        yield str(value)
        yield ""
    elif value is not None:
        yield f"{name}: {value.average if kind == 'avg' and isinstance(value, Stats) else printable(str(value))}"


EMPTY: Dict[str, Union[int, Stats, Histogram]] = {
    "count": 0, "sum": 0, "avg": Stats(0, 0, 0), "stats": Stats(0, 0, 0), "hist": Histogram(), "lhist": Histogram()}


def word_of(value: ValueStruct, kind: int) -> Word:
    """@param kind  as VALUE_KINDS has it"""
    text = value.text
    if text is None:
        return int(value.number)
    return stack_of(text_of(text)) if VALUE_KINDS.get(kind) == "stack" else text_of(text)


def read_maps(api: Library, handle: int) -> Maps:
    """@param handle  of fastsdt_trace_maps_read(), which is freed with what is returned, or now"""
    maps = Maps()
    read = Read(api, handle)
    freed = weakref.finalize(read, api.maps_free, handle)
    low, high = c_int64(), c_int64()
    for m in range(api.maps_count(handle)):
        told = api.maps_get(handle, m).contents
        kind = MAP_KINDS.get(told.kind, "integer")
        name = text_of(told.name)

        def value_of(entry: EntryStruct) -> Value:
            def number(n: int) -> int:
                return n if told.is_signed else n & MASK
            if kind == "string":
                return word_of(entry.value, api.maps_value_kind(handle, m))
            if kind in ("avg", "stats"):
                return Stats(entry.count, number(entry.value.number), number(entry.total))
            if kind not in ("hist", "lhist"):
                return number(entry.value.number)
            filled = [b for b in range(told.buckets) if entry.bucket[b]]
            buckets = []
            for b in range(filled[0], filled[-1] + 1) if filled else ():
                api.maps_bucket(handle, m, b, byref(low), byref(high))
                buckets.append(Bucket(low.value, high.value, entry.bucket[b]))
            return Histogram(buckets)

        kinds = [api.maps_key_kind(handle, m, k) for k in range(told.keys)]
        if any(VALUE_KINDS.get(key) == "stack" for key in kinds):
            maps._read = read
        entries = [api.maps_entry(handle, m, e).contents for e in range(told.entries)]
        maps.kinds[name] = kind
        if told.keys == 0:
            maps[name] = value_of(entries[0]) if entries else EMPTY.get(kind)
            continue
        maps[name] = by_key = Map(name, kind)
        for entry in entries:
            keys = tuple(word_of(entry.key[k], kinds[k]) for k in range(told.keys))
            by_key[keys if len(keys) > 1 else keys[0]] = value_of(entry)
    maps.dropped, maps.unread = api.maps_dropped(handle), api.maps_unread(handle)
    maps.unread_reason = text_of(api.maps_unread_reason(handle)) if maps.unread else ""
    if maps._read is None:
        freed()
    return maps
