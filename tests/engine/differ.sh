#!/bin/bash
# Some dozen scripts on our engine and in bpftrace: the same maps (differ.py). tests/long/differ.sh has hundreds.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc bpftrace python3
need_uprobes
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/engine/maps.c" -o maps
"$FASTSDT_SOURCE/tests/engine/differ.py" "${FASTSDT_DIFFER_SCRIPTS:-90}" "${FASTSDT_DIFFER_SEED:-1}"
