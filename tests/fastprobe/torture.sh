#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A sample of GCC's torture tests; tests/long/gcc-torture.sh runs all, at more levels. Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
need "${4%% *}" apt-get dpkg-deb
[ -e "$3" ] || skip "$3 was not built"
export JOBS=1
"$FASTSDT_SOURCE/tests/long/gcc-torture.sh" -n 100 -f -O2 -e auto -e nop10 "$@"
# And with random flags, the same in each run.
exec "$FASTSDT_SOURCE/tests/long/gcc-torture.sh" -n 300 -r 1 -s 1 "$@"
