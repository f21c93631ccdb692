"""Probes of Python programs: their files against those of the C compiler, and what they do in this process. Run by probes.sh."""
import ctypes
import json
import os
import re
import struct
import subprocess
import sys
import threading

import fastsdt
from fastsdt import _probes
from checks import refused, same

IN_C = {int: "long", bool: "bool", float: "double", str: "const char *", bytes: "const char *"}
PROBES = {f"n{n}": [int] * n for n in range(13)}
PROBES.update(text=[str, int, bytes], truth=[bool, int, bool], real=[int, float])
NAMED = {"id": int, "item": str, "price": float, "paid": bool}


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"FAIL: {' '.join(command)}: status {done.returncode}: {done.stdout}")
    return done.stdout


def notes(file, masked):
    """What readelf says of the notes of a file with one probe, without addresses. @param masked  more that may differ"""
    text = run("readelf", "-nW", file)
    text = text[text.index("Displaying notes found in: .note.fastsdt\n"):]
    if not masked.startswith("named"):
        text = text.partition("\nDisplaying notes found in: .note.fastsdt.names\n")[0].rstrip("\n") + "\n"
    pc, semaphore = (int(re.search(rf"{word}: 0x(\w+)", text).group(1), 16) for word in ("Location", "Semaphore"))
    layout = bytes.fromhex(re.search(r"0x00000053\)\s+description data: (.*)", text).group(1))
    same(f"{file}: addresses in both notes", [int.from_bytes(layout[at:at + 8], "little") for at in (8, 16)], [pc, semaphore])
    text = re.sub(r"(0x00000053\)\s+description data: (?:\w\w ){8}).*", r"\1", re.sub(r": 0x\w*[1-9a-f]\w*", ": ADDRESS", text))
    return re.sub(masked, "MASKED", text) if masked else text


def site(file):
    """Bytes, layout and findings as fastsdt-check has them, which finds nothing wrong. On arm64 it says that old kernels single-step a nop."""
    report, = json.loads(run("fastsdt-check", "--json", "--no-lines", "--fail-on", "warning", file))["files"]
    probe, = report["probes"]
    return (probe["bytes"][:22 if report["arch"] == "x86_64" else 8], probe["layout"], probe["layout_note"],
            [one["id"] for one in report["findings"] + probe["findings"]])


def compare(compiler):
    for name, types in [*PROBES.items(), ("named", NAMED)]:
        kinds = list(NAMED.values()) if types is NAMED else types
        if types is NAMED:
            use = "FASTSDT_NAMED(shop, named, " + ", ".join(f"({IN_C[one]}, {word}, a{i})" for i, (word, one) in enumerate(NAMED.items()))
        else:
            use = ", ".join([f"FASTSDT_WITH(default, implicit, shop, {name}", *(f"a{i}" for i in range(len(kinds)))])
        with open("same.c", "w") as out:
            out.write('#include "fastsdt.h"\ntypedef _Bool bool;\n')
            out.write(f"void f({', '.join(f'{IN_C[one]} a{i}' for i, one in enumerate(kinds)) or 'void'}) {{ {use}); }}\n")
        run(compiler, "-O2", "-shared", "-fPIC", "-nostdlib", "-DFASTSDT_BOUND=4", "-I", os.environ["INCLUDE"], "same.c", "-o", "same.so")
        probe = shop.probe(name, **types) if types is NAMED else shop.probe(name, *types)
        with open(_probes._library().fastsdt_probes_path(probe._made), "rb") as made, open("ours.so", "wb") as out:
            out.write(made.read())
        # In C a double comes in another register, and FASTSDT_NAMED has no semaphore.
        masked = {"real": r"8@\S+", "named": r"named=|8@\S+|1@\S+|Semaphore: \w+"}.get(name, "")
        same(f"{compiler}: the notes of {name}", notes("ours.so", masked), notes("same.so", masked))
        same(f"{compiler}: the site of {name}", site("ours.so"), site("same.so"))
    print(f"{len(PROBES) + 1} probes are those of {compiler}")


shop = fastsdt.provider("shop")
compare(sys.argv[1])

# ---- In this process
order, closed = shop.probe("order", int, str), shop.probe("closed")
many, item = shop.probe("many", *[int] * 12), shop.probe("item", id=int, name=bytes, price=float, paid=bool)
same("the same probe", (fastsdt.provider("shop").probe("order", int, str) is order, shop.probe("closed", int) is closed), (True, False))
same("nobody traces", (order.enabled, repr(order)), (False, "<fastsdt.Probe shop:order>"))
order(1, "not seen")
script = """usdt:*:shop:order { @n = count(); @[str(arg1), arg0] = count(); } usdt:*:shop:closed { @closed = count(); }
    usdt:*:shop:many { @many[arg0, arg1, arg2, arg3, arg4, arg5] = sum(arg6 + 10 * arg7 + 100 * arg8 + 1000 * arg9 + 10000 * arg10 + 100000 * arg11); }
    usdt:*:shop:item { @item[args.id, str(args.name), args.price, args.paid] = count(); }"""
with fastsdt.trace(script, read_memory=True) as t:
    same("armed", (t.maps.summary(), order.enabled), ("sites 5 of 5 armed; dropped 0", True))  # two of them are called closed
    texts = ["tea", "\xe4\u20ac", "cut\0here", None, b"bytes", "\ud800", "x" * 100]
    seen = ["tea", "\xe4\u20ac", "cut", "", "bytes", "?", "x" * 63]
    for number, text in zip((0, -1, 2**63 - 1, -2**63, 2**64 + 5, True, 7), texts):
        order(number, text)
    same("orders", sorted(t.maps["@"]), sorted(zip(seen, (0, -1, 2**63 - 1, -2**63, 5, 1, 7))))
    closed()
    many(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3)
    item(price=0.5, id=-1, paid=True, name=b"milk")
    same("others", (t.maps["@closed"], t.maps["@many"], list(t.maps["@item"])),
         (1, {(1, 2, 3, 4, 5, 6): 7 + 80 + 900 + 1000 + 20000 + 300000}, [(-1, "milk", 0x3FE0000000000000, 1)]))
    refused("a wrong type, while somebody traces", ctypes.ArgumentError, "argument 1: ", lambda: order("five", "tea"))
    refused("a wrong text", ctypes.ArgumentError, "argument 2: ", lambda: order(5, 5))
    refused("a wrong float", struct.error, "required argument is not a float", lambda: item(id=1, name=None, price="dear", paid=False))
    before = t.maps["@n"]
    threads = [threading.Thread(target=lambda: [order(i, "tea") for i in range(2000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same("threads", t.maps["@n"] - before, 16000)
same("nobody traces any more", order.enabled, False)
refused("too few arguments", TypeError, "missing 1 required positional argument: 'arg1'", lambda: order(1))
refused("a wrong name", TypeError, "unexpected keyword argument 'cost'", lambda: item(id=1, name=b"", cost=1.0, paid=False))
refused("13 arguments", ValueError, "at most 12 arguments, not 13", lambda: shop.probe("more", *[int] * 13))
refused("a type", TypeError, "<class 'list'> is none of int, bool, float, str, bytes", lambda: shop.probe("more", list))
refused("names and none", TypeError, "either all arguments have names, or none", lambda: shop.probe("more", int, id=int))
for word in ("", "a b", "a:b", "1a", "\xe4", "a\n"):
    refused(f"the name {word!r}", ValueError, "no word of letters", lambda: shop.probe(word))
    refused(f"the provider {word!r}", ValueError, "no word of letters", lambda: fastsdt.provider(word))
dev = "import fastsdt; order = fastsdt.provider('shop').probe('order', int); order(1); order('one')"
same("without -X dev", subprocess.run([sys.executable, "-c", dev], stderr=subprocess.PIPE).returncode, 0)
done = subprocess.run([sys.executable, "-X", "dev", "-c", dev], stderr=subprocess.PIPE, text=True)
same("with -X dev", (done.returncode, "ctypes.ArgumentError" in done.stderr), (1, True))
child = os.fork()
if child == 0:
    order(1, "tea")
    os._exit(0 if shop.probe("of_the_child", int).enabled is False else 1)
same("a forked child", os.waitpid(child, 0)[1], 0)
print("in this process")
