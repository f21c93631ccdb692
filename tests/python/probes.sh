#!/bin/bash
# Probes that a Python program makes for itself: their notes and bytes are those of the compiler and fastsdt.h, and fastsdt-trace, bpftrace and gdb
# see the same hits and values. The program is an ordinary user's, and so is fastsdt-trace.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need readelf
user_folder
. "$FASTSDT_SOURCE/tests/python/common.sh"
export INCLUDE
here=$FASTSDT_SOURCE/tests/python
cp "$here/target.py" .
"$python" -B "$here/probes.py" gcc

chmod -R a+rX . # pip's folders may be for root only
trace=fastsdt-trace bpftrace='' gdb=''
! attachable || trace="${as_user[*]} fastsdt-trace"
[ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] || ! have bpftrace || bpftrace=bpftrace
[ "$(id -u)" != 0 ] || ! have gdb || gdb=gdb
"$python" -B "$FASTSDT_SOURCE/tests/probes/tracers.py" 12 "${as_user[*]}" "$trace" "$bpftrace" "$gdb" "$python" -B "$PWD/target.py"
