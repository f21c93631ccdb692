#!/bin/bash
# A diagonal of the link matrix: each pair of values of compiler, linker, output, variant, LTO and language once.
# tests/long/link-matrix.sh runs the whole.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3 gcc readelf
[ -n "$(plugin gcc)" ] || skip "this build has no compiler plugins"
options=(--jobs 4)
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] && have gdb bpftrace; then
    options+=(--bpftrace)
else
    echo "without tracers: they need root and uprobes"
    options+=(--no-tracers)
fi
"$FASTSDT_SOURCE/tests/long/link-matrix.sh" --cells diagonal --scratch "$PWD/cells" "${options[@]}"
