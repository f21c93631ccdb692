#!/bin/bash
# The same script gives the same maps on all engines, as text and as JSON.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc bpftrace
need_uprobes
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/engine/maps.c" -o maps

# Where possible the entries of a map have different values, since bpftrace prints equal ones in no order. Several scripts, since BPF
# bounds the stack of each.
scripts=(
    'usdt:./maps:t:hit /arg0 != 3/ { @ = count(); @parity[arg0 % 2 == 0] = sum(arg0); @sum[arg0 % 4] = sum(arg2); @min[arg0 % 4] = min(arg2 + 1);
         @max[arg0 % 4] = max(arg2); @negative = sum(arg1); @last = arg2; @lasts[arg0 / 10] = arg2; @const = -5; }'
    'usdt:./maps:t:hit { @avg[arg0 % 4] = avg(arg2); @stats[arg0 % 2] = stats(arg1 + 20 * (arg0 % 2)); @average = avg(arg1); @below = stats(arg1 - 100); }'
    'usdt:./maps:t:hit { @hist = hist(arg2); @hists[arg0 % 3 == 0] = hist(arg1 * 1000); @lhist = lhist(arg1, 2, 17, 5);
         @lhists[arg0 > 30] = lhist(arg2, 0, 10000, 1000); }'
    'usdt:./maps:t:hit { @name[str(arg3)] = sum(arg2); @text = str(arg3); @texts[arg0 % 5] = str(arg3); }'
    'usdt:./maps:t:hit, usdt:./maps:t:done { @both[probe] = count(); @probe = probe; } usdt:./maps:t:done { @where[probe, "x", pid == tid] = count(); }'
    'usdt:./maps:t:sizes { @byte[arg0] = sum(arg0); @short = sum(arg1); @shorts[arg1] = sum(arg0); @large[arg2] = sum(arg2); @five[arg3] = count(); }'
    'usdt:./maps:t:hit /arg0 > 1000/ { @never = count(); @never_hist = hist(arg0); @never_stats[arg0] = stats(arg0); @never_avg = avg(1); @never_sum = sum(1); }
     usdt:./maps:t:hit { @Upper = count(); @a1 = count(); @a = count(); }'
)
for script in "${scripts[@]}"; do
    all_engines -e "$script" -- ./maps 101
    cp user.txt text
    all_engines --json -e "$script" -- ./maps 101
    python3 -c 'import json, sys
for line in open("user.txt"): json.loads(line)' || fail "not JSON: $(cat user.txt)"
    case $script in
    *@parity*)
        grep -qx '@: 100' text || fail "hits: $(cat text)"
        grep -qx '@parity\[1\]: 2550' text || fail "the sum of the even numbers up to 100: $(cat text)"
        ;;
    esac
done

# Maps that are printed and cleared before the end, and what is left for the end. Blank lines, which bpftrace puts between, are not compared.
printed() { # ENGINE
    fastsdt-trace --engine "$1" -e 'BEGIN { printf("begin\n"); } usdt:./maps:t:hit { @k[arg0] = sum(arg0); @c = count(); @h[arg0 % 7 == 0] = hist(arg0); @s = stats(arg0); }
        END { printf("end\n"); print(@k, 3); print(@k, 2, 10); clear(@k); print(@c); print(@h, 1); print(@h, 1, 2); clear(@h); }' \
            -- ./maps 101 >"$1.out" 2>"$1.err" ||
        fail "--engine $1: $(cat "$1.err")"
    grep -vE '^$|^Attaching|^sites ' "$1.out"
}
by_bpftrace=$(printed bpftrace)
expect "printed and cleared" "$(printed user)" "$by_bpftrace"
expect "printed and cleared, in the kernel" "$(printed kernel)" "$by_bpftrace"
[ "$(grep -c '^@k\[' user.out)" = 5 ] || fail "printed and cleared: $(cat user.out)"
