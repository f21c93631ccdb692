#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# zlib and Lua pass their tests when built with the plugin at -O2; tests/long/fastprobe-real.sh does more.
# Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
[ -e "$3" ] || skip "$3 was not built"
[ -x "$FASTSDT_BUILD/bin/fastsdt-check" ] || skip "fastsdt-check was not built"
export FASTPROBE_REAL_WORK=$FASTSDT_BUILD/fastprobe-real
exec "$FASTSDT_SOURCE/tests/long/fastprobe-real.sh" -p zlib -p lua -f -O2 -e auto "$@"
