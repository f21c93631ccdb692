#!/bin/bash
# Filters and expressions mean the same on our engine and in bpftrace: signs, division, shifts, truth. Division by 0 is not tried, since
# LLVM does not define it: to bpftrace x / 0 is 0 as a value, and true as a filter. Nor is a comparison of two constants: in
# bpftrace 0.23 it is -1 if it is true.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc bpftrace
need_uprobes
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/engine/maps.c" -o maps

expressions=('arg0 + arg1 * 2' 'arg0 - arg1' 'arg1' '-arg1' '~arg1' '!arg1' 'arg1 / 3' 'arg1 % 7' 'arg2 / (arg0 + 1)' 'arg2 % (arg0 + 1)'
    'arg2 << 3' 'arg1 >> 60'
    'arg1 << (arg0 % 64)' 'arg0 & 12 | 3' 'arg0 ^ arg1' 'arg0 < 10' 'arg1 < 0' 'arg1 <= -1' 'arg1 > 5' 'arg1 >= 20' 'arg0 == 4 || arg1 == 4'
    'arg0 && arg1'
    '(0 - 5) < arg0' '-5 < arg0' '(-5) / 2' '(-5) % 3' '(-8) >> 1' 'arg0 > -1' 'arg0 == arg1' 'arg0 != 20 - arg0' '1 + 2 * 3 - 4 / 2'
    'arg2 * arg2 * arg2' '!(arg0 % 2) + 1'
    'arg0 > 3 && arg0 < 8 || !arg0' '0x7fffffffffffffff + arg0' '1e3 - arg0')
script=''
for i in "${!expressions[@]}"; do
    script+="@v${i}[arg0] = ${expressions[i]}; "
done
# Half of them at a time, since the kernel bounds a BPF program.
values="usdt:./maps:t:hit /arg0 < 24/ { ${script% } }"
filters=''
for i in "${!expressions[@]}"; do
    filters+="usdt:./maps:t:hit /${expressions[i]}/ { @f$i = sum(1 << arg0); } "
done
run() { # SCRIPT
    local engine
    for engine in user kernel bpftrace; do
        fastsdt-trace --engine $engine -e "$1" -- ./maps 24 >$engine.out 2>$engine.err || fail "--engine $engine: $(cat $engine.err)"
        # equal values come in any order from bpftrace
        grep '^@' $engine.out | sort >$engine.txt
    done
    for engine in user kernel; do
        diff bpftrace.txt $engine.txt >difference || fail "the engines differ (< bpftrace, > $engine):
$(cat difference)
$(for i in "${!expressions[@]}"; do echo "$i: ${expressions[i]}"; done)"
    done
    [ "$(wc -l <user.txt)" -ge "$2" ] || fail "too few lines: $(cat user.txt)"
}
run "$values" $((24 * ${#expressions[@]}))
run "$filters" 30 # a few filters are never true
