#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# layouts.sh on the running kernel.
. "$FASTSDT_SOURCE/tests/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the layouts are for x86-64"
need gcc fastsdt-probe awk
need_uprobes
"$FASTSDT_SOURCE/tests/kernel/build-layouts.sh" "$INCLUDE" layouts "$FASTSDT_BUILD/gcc-12/fastprobe.so"
exec "$FASTSDT_SOURCE/tests/kernel/layouts.sh" layouts
