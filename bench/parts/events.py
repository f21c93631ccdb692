# SPDX-License-Identifier: BSD-2-Clause
"""What an event costs that fastsdt-trace prints or writes to a trace, what others take on the same program, and how many a second it keeps up
with. A count is beside them, for how fast the machine is."""
import os
import shutil

from parts.trace import SCRIPTS, build, hits
from run import Unavailable
from tracers import Idle, Lttng, Prints, Records, Script, Uftrace

TITLE = "Events"
LIVE = True


def all_ways(bench, built):
    tools = ["fastsdt-trace"] + (["bpftrace"] if shutil.which("bpftrace") else [])
    ways = [Idle("fastsdt", "site"), Idle("fastsdt", "call"), *(Script(tool, *SCRIPTS[0]) for tool in tools), *map(Prints, tools),
            Prints("fastsdt-trace", "--unordered", action="printf of two integers, --unordered")]
    if shutil.which("babeltrace2"):
        ways += [Records("site"), Records("call")]
    else:
        bench.skip("fastsdt-trace record", "babeltrace2 is not installed")
    if "lttng" in built:
        ways += [Idle("lttng", "site"), Lttng()]
    if "uftrace" in built:
        ways += [Idle("uftrace", "call"), Uftrace()]
    return ways


def kept_up(bench, built, loop, buffer):
    """What a tool writes that records what two threads do: as fast as they can, or 20 million events a second."""
    if not shutil.which("babeltrace2"):
        raise Unavailable("babeltrace2 is not installed")
    file = f"{os.path.dirname(built['fastsdt'])}/fast"
    shutil.copy(built["fastsdt"], file)
    way, turns = Records("site", buffer), {"site": 5_000_000, "steady": 10_000_000 if bench.quick else 50_000_000}[loop]
    way.start(bench, file, 2)
    seconds = way.target.ask(loop, turns) / 1e9
    events, lost, size = way.counted(bench)
    way.target.end()
    way.expect(events + lost, 2 * turns)
    os.unlink(file)
    return [{"what": "kept up", "loop": loop, "buffer": buffer, "threads": 2, "events": events, "lost": lost, "seconds": round(seconds, 3),
             "bytes": size}]


def measure(bench):
    if os.uname().machine != "x86_64":
        raise Unavailable("the engine arms x86-64 so far")
    built, rows = build(bench), []
    for threads in (1, 8) if bench.quick else (1, 2, 8):
        bench.say(f"events, {threads} threads")
        rows += hits(bench, built, threads, all_ways(bench, built))
    for loop, buffer in (("steady", "4M"), ("site", "4M"), ("site", "256M")):
        bench.say(f"two threads that record, {loop}, buffers of {buffer}")
        rows += bench.piece(f"record, {loop}, buffers of {buffer}", kept_up, built, loop, buffer)
    return rows
