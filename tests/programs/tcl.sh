#!/bin/bash
# Tcl from Debian's unchanged sources with systemtap's header and with ours: it builds, its own tests give the same results, it has the
# same probes, and bpftrace, fastsdt-trace and gdb count what it did.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/programs/common.sh"
need gcc make gdb bpftrace
fetch tcl8.6
FASTSDT_REAL_PROGRAMS=$PWD "$FASTSDT_SOURCE/tests/long/real-programs.sh" -t -v systemtap -v fastsdt tcl
