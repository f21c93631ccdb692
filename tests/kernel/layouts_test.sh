#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# layouts.sh on the running kernel.
. "$FASTSDT_SOURCE/tests/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the layouts are for x86-64"
need gcc fastsdt-probe awk
need_uprobes
"$FASTSDT_SOURCE/tests/kernel/build-layouts.sh" amd64 "$INCLUDE" layouts "$FASTSDT_BUILD/$(plugin gcc)/fastprobe.so"

# count.c, which the arm64 guests use instead of layouts.sh.
gcc -O2 -Wall -Wextra -Werror "$FASTSDT_SOURCE/tests/kernel/count.c" -o count
at=0x$(fastsdt-check --plan --json -P nop1 -k 6.1 layouts/layouts | awk -F'[:,]' '/"file_offset"/ { printf "%x", $2 }')
expect "count" "$(./count threads layouts/layouts "$at" layouts/layouts threads nop1)" "ok threads: 800 hits at each of 1"
printf '#!/bin/sh\nlayouts/layouts plain nop1\necho hits 201\n' >liar
chmod +x liar
expect "count, a wrong number" "$(./count lie layouts/layouts "$at" ./liar || echo $?)" "FAIL lie: probe 0: 200 hits, expected 201
1"
exec "$FASTSDT_SOURCE/tests/kernel/layouts.sh" layouts
