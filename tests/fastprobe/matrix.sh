#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the records say of entries and exits is what objdump finds there, with random flags of the compiler: a few programs and a fixed seed.
# tests/long/gcc-torture.sh -r does it with any seed and with all of GCC's programs. Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3 "${4%% *}" "${5%% *}"
[ -e "$3" ] || skip "$3 was not built"
[ "$2" != arm64 ] || need qemu-aarch64 aarch64-linux-gnu-objdump
cases=$FASTSDT_SOURCE/tests/fastprobe/cases
JOBS=1 exec "$FASTSDT_SOURCE/tests/long/gcc-torture.sh" -r 6 -s 1 -p "$cases/modes.c" -p "$cases/exits.c" -p "$cases/awkward.c" \
    -p "$cases/stack.c" -p "$cases/through.cpp" "$@"
