"""Tracing this process and another one. Every expected figure is worked out from what the programs do, or bpftrace's; run by package.sh."""
import copy
import ctypes
import gc
import gzip
import os
import pickle
import select
import subprocess
import sys
import threading
from pathlib import Path

import fastsdt
from fastsdt import _library as library
from checks import refused, same

# ---- The numbers and structures of the header
header = dict(line.rsplit(" ", 1) for line in Path("header.txt").read_text().splitlines())
ours = {}
for prefix, kinds in (("", library.MAP_KINDS), ("EVENT_", library.EVENT_KINDS), ("VALUE_", library.VALUE_KINDS), ("", library.FLAGS)):
    ours.update({f"FASTSDT_TRACE_{prefix}{name.upper()}": str(number) for number, name in kinds.items()})
errors = {fastsdt.ScriptError: "TEXT", fastsdt.RefusedError: "REFUSED", fastsdt.MisuseError: "MISUSE", fastsdt.BusyError: "BUSY",
          MemoryError: "MEMORY"}
ours.update({f"FASTSDT_TRACE_{errors[error]}": str(number) for number, error in library.ERROR_KINDS.items()})
for name in ("Error", "Options", "Site", "Map", "Value", "Entry", "Event"):
    struct = getattr(library, name + "Struct")
    ours[name.lower()] = str(ctypes.sizeof(struct))
    ours.update({f"{name.lower()}.{field}": str(getattr(struct, field).offset) for field, _ in struct._fields_})
same("the header's", ours, {name: number for name, number in header.items() if not name.startswith("FASTSDT_TRACE_SITE_")})

# ---- This process: bpftrace's text of all kinds of maps
shop = ctypes.CDLL("./libshop.so")
ORDER = "usdt:*:shop:order"
script = Path("script.bt").read_text().replace("usdt:./shop:shop:order", ORDER)
with fastsdt.trace(script, read_memory=True) as t:
    shop.run(1000)
    maps = t.maps
    text = [line for line in str(maps).splitlines() if line]
    same("the last line", text.pop(), "sites 1 of 1 armed; dropped 0")
    same("complete", (t.complete, maps.complete, [site.armed for site in t.sites]), (True, True, [True]))
if os.path.exists("bpftrace.txt"):
    same("bpftrace's text", "\n".join(text), Path("bpftrace.txt").read_text().rstrip("\n"))
else:
    print("not compared with bpftrace: no root, no uprobes or no bpftrace")

# The same as values, worked out here.
orders = [(0 if d < 1 else 1 if d < 3 else 2 if d < 6 else 3, i) for i in range(1000) for d in [i % 10]]
items = {s: [i for shop_, i in orders if shop_ == s] for s in range(4)}
same("after the end", t.maps, maps)
same("count", (maps["@n"], maps["@c"], maps["@c"].kind, list(maps["@c"])), (1000, {0: 100, 1: 200, 2: 300, 3: 400}, "count", [0, 1, 2, 3]))
same("sum", maps["@s"], {("tea" if s % 2 else "coffee", s): sum(items[s]) for s in range(4)})
same("min, max, last", (maps["@min"], maps["@max"], maps["@last"]), (5, 999, 999))
same("avg", maps["@a"], {s: (len(items[s]), sum(items[s]) // len(items[s]), sum(items[s])) for s in range(4)})
same("stats", (maps["@st"], maps["@st"][3].count), (maps["@a"], 400))
wanted = [(0, 0, 1)] + [(2**p, 2**(p + 1) - 1, sum(2**p <= i < 2**(p + 1) for i in range(1000))) for p in range(10)]
same("hist", (list(maps["@h"]), maps["@h"].count), (wanted, 1000))
same("lhist", list(maps["@l"]), [(0, 99, 100), (100, 199, 100), (200, 299, 100), (300, 2**63 - 1, 700)])
same("strings", maps["@text"], {0: "coffee", 1: "tea", 2: "coffee", 3: "tea"})
for part in ("<caption>@s</caption>", "<th>coffee, 2</th>", "<td>[512, 1K)</td><td>488</td>", "sites 1 of 1 armed; dropped 0"):
    if part not in maps._repr_html_():
        sys.exit(f"FAIL: no {part} in {maps._repr_html_()}")
try:
    import pandas
except ImportError:
    print("pandas is not installed")
else:
    frame = maps["@st"].to_pandas()
    same("pandas, stats", (list(frame.columns), int(frame["total"].sum())), (["key", "count", "average", "total"], 999 * 500))
    frame = maps["@s"].to_pandas()
    same("pandas, two keys", frame.groupby("key1")["value"].sum().to_dict(), {"coffee": sum(items[0] + items[2]), "tea": sum(items[1] + items[3])})
    same("pandas, hist", int(maps["@k"].to_pandas().query("key == 2")["count"].sum()), 300)

# Before the first hit; then threads, while others read; then empty again.
with fastsdt.trace(ORDER + " { @n = count(); @by[tid] = count(); @max = max(arg1); @h = hist(arg1); @a = avg(arg1); }") as t:
    same("before a hit", dict(t.maps), {"@n": 0, "@by": {}, "@max": None, "@h": (), "@a": (0, 0, 0)})
    ids = set()

    def work():
        ids.add(threading.get_native_id())
        for _ in range(20):
            shop.run(250)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        reading = t.maps["@n"]
    for thread in threads:
        thread.join()
    same("threads", (t.maps["@n"], t.maps["@by"]), (8 * 20 * 250, {i: 20 * 250 for i in ids}))
    t.clear("@max")
    same("a map cleared", (t.maps["@max"], t.maps["@n"]), (None, 40000))
    t.clear()
    same("all cleared", (t.maps["@n"], t.maps["@by"]), (0, {}))
    refused("no such map", KeyError, "@x: the script has @n, @by", lambda: t.clear("@x"))
    child = os.fork()
    if child == 0:
        refused("in a child", fastsdt.MisuseError, "a forked child opens its own", lambda: t.maps)
        assert "opens its own" in repr(t)
        sys.exit(0)  # and ends as programs do
    same("the child", os.waitpid(child, 0)[1], 0)
    shop.run(10)
    same("after the child", t.maps["@n"], 10)
shop.run(10)
same("detached", t.maps["@n"], 10)
refused("closed", fastsdt.MisuseError, "the trace is closed", t.clear)
t.close()

# ---- What is not seen is told
with fastsdt.trace("usdt:*:shop:* { @ = count(); }") as t:
    same("a site that cannot be armed", sorted((s.probe.split(":")[-1], s.armed, s.reason) for s in t.sites),
         [("closed", False, "has no nop10"), ("order", True, "armed")])
    same("its number", [s.state for s in t.sites if not s.armed], [int(header["FASTSDT_TRACE_SITE_NO_NOP"])])
    same("incomplete", (t.complete, t.maps.summary()), (False, "sites 1 of 2 armed (1 has no nop10); dropped 0"))
with fastsdt.trace(ORDER + " { @[str(arg2)] = count(); }") as t:
    shop.run(1000)
    maps = t.maps
    same("unread", (dict(maps["@"]), maps.unread, maps.complete), ({}, 1000, False))
    if "libffi" not in maps.unread_reason or f"; unread 1000 ({maps.unread_reason})" not in str(t):
        sys.exit(f"FAIL: {maps.summary()}")
with fastsdt.trace(ORDER + " { @[str(arg2)] = count(); }", read_memory=True) as t:
    shop.run(1000)
    same("the same script, read", (t.maps["@"], t.complete), ({"coffee": 400, "tea": 600}, True))
with fastsdt.trace(ORDER + " { @[arg1] = count(); }") as t:
    shop.run(100000)
    maps = t.maps
    same("keys and dropped", (len(maps["@"]) + maps.dropped, maps.complete), (100000, False))
    if not maps.dropped or f"dropped {maps.dropped}" not in repr(maps):
        sys.exit(f"FAIL: {maps.summary()}")
with fastsdt.trace(ORDER + ' { printf("%d %s", arg1, str(arg2)); print(@n); @n = count(); }', read_memory=True) as t:
    shop.run(3)
    same("events", [(e.kind, e.map, e.values) for e in t.events()],
         [event for i, item in enumerate(("coffee", "tea", "tea")) for event in (("printf", "", (i, item)), ("print", "@n", ()))])
    same("taken", t.events(), [])
    shop.run(20000)
    same("lost", (len(t.events()) + t.lost, t.complete), (40000, False))
    if not t.lost or f"; lost {t.lost}" not in str(t):
        sys.exit(f"FAIL: {t}")
    shop.run(2)
same("those that were not read before the end", [e.values for e in t.events() if e.kind == "printf"], [(0, "coffee"), (1, "tea")])
with fastsdt.trace(ORDER + " { @ = count(); }") as t:
    late = ctypes.CDLL("./liblate.so")
    late.run(1)
    same("not armed yet", (t.maps["@"], t.complete), (0, True))
    t.update()
    late.run(1)
    same("late", (t.maps["@"], t.complete, t.maps.summary()), (1, False, "sites 2 of 2 armed (1 armed late); dropped 0"))
with fastsdt.trace("usdt:*:no:such { @ = count(); }") as t:
    same("no site", (t.complete, t.sites), (False, []))
    sentence, = t.maps.missing
    same("why", sentence.startswith("nothing matches usdt:*:no:such: the probes there are "), True)
    same("shown", str(t), "@: 0\n\nsites 0 of 0 armed; dropped 0; " + sentence)
with fastsdt.trace(ORDER + ", usdt:*:shop:oder { @ = count(); }") as t:
    same("one of two", (t.complete, len(t.sites), t.maps.missing),
         (False, 2, ["nothing matches usdt:*:shop:oder: the probes of shop are shop:closed, shop:order"]))

# ---- Functions of a program that was built without fastsdt, and of this one; stacks; waiting for events
if os.uname().machine == "x86_64":
    program = os.path.abspath("plain")
    plain = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def go():
        print("go", file=plain.stdin, flush=True)
        return plain.stdout.readline()

    same("it is there", go(), "did\n")
    script = f"""uprobe:{program}:work {{ @[ustack] = count(); @two[ustack, arg0 % 2] = sum(arg0); @n[arg0 % 2] = count();
        if (arg0 == 7) {{ printf("%d %s", arg0, ustack); }} }}"""
    with fastsdt.trace(script, pid=plain.pid) as t:
        same("nothing to wait for", (t.wait(0), select.select([t], [], [], 0)[0]), (False, []))
        go()
        same("something is there", (t.wait(), select.select([t], [], [], 0)[0]), (True, [t]))
        event, = t.events()
        same("an event", (event.kind, event.values[0], event.stack[0].name, event.stack[1].name, t.wait(0)), ("printf", 7, "work", "main", False))
        maps = t.maps
    stack, = maps["@"]
    same("a stack", (maps["@"][stack], str(stack).endswith("main;work"), stack[0].file, stack == event.stack), (1000, True, program, True))
    same("frames", (stack[0].offset, stack[0].inlined, stack[1].offset > 0, stack[1].address > stack[0].address), (0, False, True, False))
    same("with another key", (maps["@two"][stack, 0], maps["@two"][stack, 1], maps.complete), (sum(range(0, 1000, 2)), sum(range(1, 1000, 2)), True))
    Path("profile.pb.gz").write_bytes(maps.to_pprof())
    Path("flame.html").write_text("<!DOCTYPE html><html><meta charset=utf-8><body>" + maps._repr_html_() + "</body></html>")
    refused("a flame graph of numbers", fastsdt.MisuseError, "by one stack", maps["@n"].flame_graph)
    with fastsdt.trace(f"uprobe:{program}:reads {{ @ = count(); }}", pid=plain.pid) as t:
        go()
        same("without stacks", (t.maps["@"], len(t.sites)), (1000, 1))
        refused("a profile of them", fastsdt.MisuseError, "by stack", t.maps.to_pprof)
    with fastsdt.trace(f"uprobe:{program}:* {{ @ = count(); }}", pid=plain.pid) as t:
        left_out = [site for site in t.sites if site.left_out]
        same("a pattern", (t.complete, bool(left_out), f"; left out {len(left_out)}" in str(t)), (True, True, True))
    with fastsdt.trace(f"uprobe:{program}:work {{ @ = count(); }}", pid=plain.pid, move=False) as t:
        same("nothing is moved", (t.sites, t.complete), ([], False))
    refused("a small buffer", fastsdt.MisuseError, "4 KiB to 1 GiB", lambda: fastsdt.trace(script, pid=plain.pid, buffer=5))
    copied, pickled = copy.deepcopy(maps), pickle.loads(pickle.dumps(maps))
    del maps
    gc.collect()
    same("a copy of maps", gzip.decompress(copied.to_pprof()) == gzip.decompress(Path("profile.pb.gz").read_bytes()), True)
    refused("a profile of what was pickled", fastsdt.MisuseError, "by stack", pickled.to_pprof)
    with fastsdt.trace(script, pid=plain.pid) as t:
        t.fileno()
        plain.stdin.close()
        same("its end", plain.wait(), 0)
        same("nothing comes any more", t.wait(), False)
    plain.stdout.close()
    with fastsdt.trace("uprobe:*:order_of_shop { @ = count(); }") as t:
        same("none of that name", t.sites, [])
    with fastsdt.trace("uprobe:*/libshop.so:run { @ = count(); }") as t:
        same("a function of this process", [(site.armed, site.reason) for site in t.sites],
             [(False, "has no nop10, and only another process can move its instructions")])

# ---- Errors: the library's words
refused("a name for a process", TypeError, "'cat' is not the number of a process, an int, which pid is; `pidof cat` tells it",
        lambda: fastsdt.trace("usdt:*:a:b { @ = count(); }", pid="cat"))
refused("digits for a process", TypeError, "'1' is not the number of a process, an int, which pid is",
        lambda: fastsdt.trace("usdt:*:a:b { @ = count(); }", pid="1"))
error = refused("a wrong name", fastsdt.ScriptError, '"foo" is no value', lambda: fastsdt.trace("usdt:*:shop:order {\n  @ = foo; }"))
same("its place", (error.line, error.column, str(error)[:5]), (2, 7, "2:7: "))
refused("BEGIN", fastsdt.ScriptError, "left to the program that attaches", lambda: fastsdt.trace("BEGIN { @ = 1; }"))
refused("NUL", ValueError, "NUL", lambda: fastsdt.trace("usdt:*:shop:order\0"))
refused("process 0", ValueError, "no process", lambda: fastsdt.trace(ORDER + " { @ = count(); }", pid=0))
t = fastsdt.trace(ORDER + " { @ = count(); }")
with fastsdt.trace(ORDER + " { @b = count(); }") as second:
    same("two at once", second.maps.summary(), "sites 0 of 2 armed (2 taken by another script of the same tracer); dropped 0")
del t
gc.collect()
with fastsdt.trace(ORDER + " { @b = count(); }") as second:
    same("once the first is forgotten", second.complete, True)

# ---- Another process, and its end
driven = subprocess.Popen(["./hello", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def order(item):
    driven.stdin.write(item + b"\n")
    driven.stdin.flush()
    return driven.stdout.readline()


same("it is there", (order(b"first"), driven.stdout.readline(), order(b"second")), (b"open\n", b"1\n", b"2\n"))
with fastsdt.trace("usdt:*:shop:order { @[str(arg1)] = count(); @ids = sum(arg0); }", pid=driven.pid) as t:
    for item in (b"tea", b"tea", b"\xff", b"\x1b[2J"):
        order(item)
    same("another process", (dict(t.maps["@"]), t.maps["@ids"], t.pid), ({"tea\n": 2, "\udcff\n": 1, "\x1b[2J\n": 1}, 3 + 4 + 5 + 6, driven.pid))
    same("shown", [line for line in str(t).splitlines() if "tea" not in line][:2], [r"@[\x1b[2J\n]: 1", r"@[\udcff\n]: 1"])
    order(b"last")
    driven.stdin.close()
    driven.wait()
    same("ended", (t.maps["@ids"], t.complete, t.maps.summary()), (3 + 4 + 5 + 6 + 7, True, "sites 2 of 2 armed; dropped 0; the process has ended"))
same("after its end", t.maps["@ids"], 3 + 4 + 5 + 6 + 7)
driven.stdout.close()
refused("no such process", fastsdt.RefusedError, "there is no such process", lambda: fastsdt.trace(ORDER + " { @ = count(); }", pid=driven.pid))
print("traced, Python " + sys.version.split()[0])
