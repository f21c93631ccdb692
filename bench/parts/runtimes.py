# SPDX-License-Identifier: BSD-2-Clause
"""What probes that nobody traces cost a whole program: PostgreSQL and Tcl without them, with systemtap's header, with ours."""
import os

from parts.programs import Postgresql
from run import Unavailable

TITLE = "A program's probes that nobody traces"
LIVE = False
QUERIES = 2000


def tcl(bench):
    """Instructions of a run, since those do not depend on what else the machine does."""
    bench.say("Tcl")
    names = {"no probes": "no probes", "systemtap's sys/sdt.h": "systemtap's sys/sdt.h", "default (nr, bound 6)": "fastsdt"}
    rows = bench.script("tcl.sh", "^gcc (no probes$|systemtap's sys|default [(])", header=["build", "text", "instructions"],
                        env={"FASTSDT_BUILD": bench.build})
    return [{"program": "Tcl", "compiler": "gcc", "header": names[row["build"].removeprefix("gcc").strip()], "text": int(row["text"]),
             "instructions": int(row["instructions"])}
            for row in rows]


def postgresql(bench):
    if os.geteuid() != 0:
        raise Unavailable("the server runs as another user, which needs root")
    dtrace, peers = bench.bin("fastsdt-dtrace"), bench.peers()
    with_probes = ["--enable-dtrace", f"DTRACE={dtrace}"]
    servers = {"no probes": Postgresql(), "systemtap's sys/sdt.h": Postgresql(*with_probes, f"CPPFLAGS=-I{peers}/systemtap"),
               "fastsdt": Postgresql(*with_probes, f"CPPFLAGS=-I{bench.top}/include")}
    name, command, _ = next(bench.compilers(("gcc",)))
    rows = {}
    for header, server in servers.items():
        folder = bench.folder(f"runtimes-{header}".replace(" ", "-").replace("'", "").replace("/", "-"))
        bench.say(f"PostgreSQL, {command}: {header}")
        server.build(bench, folder, command, [])
        program = f"{folder}/installed/bin/postgres"

        def instructions(count):
            """Of one backend alone that looks up accounts by their number, one after the other."""
            text = "".join(f"select abalance from pgbench_accounts where aid = {i * 37 % 1000000 + 1};\n" for i in range(count))
            return bench.instructions([program, "--single", "-D", f"{folder}/data", "postgres"], input=text, user=server.USER, cwd=f"{folder}/data")

        rows[header] = {"program": "PostgreSQL", "compiler": command, "header": header, "unit": "transactions/s", "folder": folder, "values": [],
                        "sites": bench.run(["readelf", "-nW", program]).count("Provider: postgresql"),
                        "text": int(bench.run(["size", program]).splitlines()[1].split()[0]),
                        "instructions": round((instructions(2 * QUERIES) - instructions(QUERIES)) / QUERIES)}
    for _ in range(7):
        for header, server in servers.items():
            server.start(rows[header]["folder"])
            try:
                rows[header]["values"].append(server.measure(bench, False)["pgbench -S"]["value"])
            finally:
                server.stop()
    return [{k: v for k, v in row.items() if k != "folder"} for row in rows.values()]


def measure(bench):
    if bench.quick:
        raise Unavailable("PostgreSQL and Tcl are built three times, which takes longer")
    return bench.piece("PostgreSQL", postgresql) + bench.piece("Tcl", tcl)
