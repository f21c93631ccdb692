#!/bin/bash
# The same script gives the same maps on both engines, as text and as JSON.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc bpftrace
need_uprobes
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/engine/maps.c" -o maps

aggregations='usdt:./maps:t:hit /arg0 != 3/ {
    @ = count(); @parity[arg0 % 2 == 0] = count(); @name[str(arg3)] = count(); @where[probe, str(arg3), arg0 % 2] = sum(arg0);
    @sum[arg0 % 4] = sum(arg2); @min[arg0 % 4] = min(arg2 + 1); @max[arg0 % 4] = max(arg2); @avg[arg0 % 4] = avg(arg2);
    @stats[arg0 % 2] = stats(arg1); @average = avg(arg1); @negative = sum(arg1); @below = stats(arg1 - 100);
    @hist = hist(arg2); @hists[arg0 % 3] = hist(arg1 * 1000); @lhist = lhist(arg1, -50, 10, 5); @lhists[arg0 > 30] = lhist(arg2, 0, 10000, 1000);
    @last = arg2; @lasts[arg0 / 10] = arg1; @text = str(arg3); @texts[arg0 % 5] = str(arg3); @probe = probe; @const = -5; @none[arg0] = count();
}
usdt:./maps:t:sizes { @byte[arg0] = count(); @short = sum(arg1); @shorts[arg1] = max(arg0); @large[arg2] = count(); @five[arg3] = count(); }
usdt:./maps:t:hit /arg0 > 1000/ { @never = count(); @never_hist = hist(arg0); @never_stats[arg0] = stats(arg0); @never_avg = avg(1); @never_sum = sum(1); }
usdt:./maps:t:hit, usdt:./maps:t:done { @both[probe] = count(); }'
# Entries of one map have values of their own, since bpftrace does not say in which order it prints equal ones.
aggregations=${aggregations/ @none\[arg0\] = count();/}
sorted='usdt:./maps:t:hit /arg0 < 20/ { @one[arg0] = sum(arg0); } usdt:./maps:t:sizes { @byte = max(arg0); @short = sum(arg1); @large = arg2; @five = min(arg3); }'
both -e "$sorted" -- ./maps 100
grep -q '^@one\[19\]: 19$' user.txt || fail "arithmetic: $(cat user.txt)"
both -e "$sorted" --json -- ./maps 100

both -e "$(grep -v sizes <<<"$aggregations")" -- ./maps 101
grep -q '^@: 100$' user.txt || fail "arithmetic: $(cat user.txt)"
both --json -e "$(grep -v sizes <<<"$aggregations")" -- ./maps 101
