#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A sample of GCC's torture tests; scripts/gcc-torture.sh runs all, at more levels. Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
need "${4%% *}" apt-get dpkg-deb
[ -e "$3" ] || skip "$3 was not built"
JOBS=1 exec "$FASTSDT_SOURCE/scripts/gcc-torture.sh" -n 100 -f -O2 -e auto -e nop10 "$@"
