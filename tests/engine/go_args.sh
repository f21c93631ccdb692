#!/bin/bash
# Arguments and results of Go functions by the names in their sources: of made-up functions, each as the function's caller prints it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
need_go
need_uprobes
seeds=1
[ "${FASTSDT_ALL_TESTS:-OFF}" = OFF ] || seeds="1 2 3 4 5 6 7 8 9 10"
for seed in $seeds; do
    python3 "$FASTSDT_SOURCE/tests/engine/go_args.py" "$seed" 60
    go build -o program program.go || fail "go cannot build it: seed $seed"
    ./program | sort >wanted
    [ "$(wc -l <wanted)" -gt 300 ] || fail "the program prints too little: $(wc -l <wanted)"
    fastsdt-trace --engine kernel -o told script.bt -- ./program >/dev/null 2>err || fail "seed $seed: status $?: $(cat err)"
    grep '^f[0-9]* ' told | sort >got
    cmp -s wanted got || fail "seed $seed: $(diff wanted got; cat err)"
done
