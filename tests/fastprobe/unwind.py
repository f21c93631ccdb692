# SPDX-License-Identifier: BSD-2-Clause
"""Run by gdb: single-steps through the first instructions of each recorded entry and unwinds at every one of them.

What must come out is known from the entry itself: the return address (top of the stack, or x30) and the caller's stack
pointer. At an entry nothing but the CFI can tell gdb about the frame, so a wrong CFI gives a wrong caller.
Environment: ENTRIES, one hexadecimal link-time address per line; STEPS; REMOTE, the port of qemu's stub, or nothing."""
import os
import sys

import gdb


def execute(command):
    return gdb.execute(command, to_string=True)


arm = os.environ["TARGET"] == "arm64"
execute("set pagination off")
execute("set confirm off")
execute("set backtrace past-main on")
execute("set disable-randomization on")
if os.environ.get("REMOTE"):
    execute("target remote 127.0.0.1:" + os.environ["REMOTE"])
    execute("tbreak main")
    execute("continue")
else:
    execute("tbreak main")
    execute("run")

# The program is linked -no-pie: addresses are run-time addresses. Deleted one by one when hit.
entries = {int(line, 16) for line in open(os.environ["ENTRIES"])}
main = int(gdb.parse_and_eval("(unsigned long)&main"))
entries.discard(main)
points = {a: gdb.Breakpoint("*%#x" % a, internal=True) for a in entries}
mask = (1 << 48) - 1  # a signed return address has its signature above
functions = checks = 0
bad = []
while True:
    execute("continue")
    try:
        frame = gdb.newest_frame()
    except gdb.error:
        break  # the program has ended
    entry = frame.pc()
    if entry not in points:
        bad.append("stopped at %#x, no entry" % entry)
        break
    points.pop(entry).delete()
    functions += 1
    sp = int(gdb.parse_and_eval("(unsigned long)$sp"))
    if arm:
        want_pc, want_sp = int(gdb.parse_and_eval("(unsigned long)$x30")) & mask, sp
    else:
        want_pc, want_sp = int(gdb.parse_and_eval("*(unsigned long *)$sp")), sp + 8
    block = frame.function()
    for step in range(int(os.environ["STEPS"])):
        pc = gdb.newest_frame().pc()
        text = execute("x/i $pc").strip()
        older = gdb.newest_frame().older()
        checks += 1
        if older is None:
            bad.append("%s: no caller" % text)
        else:
            got_pc = older.pc() & mask
            got_sp = int(older.read_register("sp"))
            if got_pc != want_pc or got_sp != want_sp:
                bad.append("%s: caller %#x, sp %#x; expected %#x, %#x" % (text, got_pc, got_sp, want_pc, want_sp))
        mnemonic = text.split("\t", 1)[1].split()[0]
        if mnemonic.startswith(("call", "jmp", "ret", "bl", "br", "b.")) or mnemonic in ("b", "syscall", "svc", "jmpq"):
            break
        execute("stepi")
        if gdb.newest_frame().pc() in points and gdb.newest_frame().pc() != entry:
            break
print("RESULT %d functions, %d instructions, %d wrong" % (functions, checks, len(bad)))
for line in bad[:20]:
    print("WRONG " + line)
execute("kill") if gdb.selected_inferior().pid else None
gdb.execute("quit")
