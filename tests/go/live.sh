#!/bin/bash
# Probes of a Go program live: each hit counted, arguments right, in both engines and in bpftrace; tracers that come and go while stacks grow, the heap is
# collected and a profile is taken, and what the program computes is right.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/go/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need_attachable
package busy "$FASTSDT_SOURCE/tests/go/busy.go"
(cd busy && go build "${indexed[@]}" -o ../program .) || fail "go build"
here=$PWD
ulimit -c 0
rm -f input

# ---- From the start.
cat >script.bt <<END
usdt:$here/program:busy:step { @n = count(); @text[str(arg2, arg3)] = count(); }
usdt:$here/program:busy:step /arg1 != arg0 * 3 + 1/ { @bad = count(); }
usdt:$here/program:busy:all { printf("all %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4); }
usdt:$here/program:busy:parts { printf("parts %s %d %d\n", str(arg0, arg1), arg2, arg3 == 0); }
usdt:$here/program:busy:none { @none = count(); }
END
cat >named.bt <<END
usdt:$here/program:busy:all { printf("%d %d %d %d %d %u %d %d %d %d %g %g\n", args.a, args.b, args.c, args.d, args.e, args.f, args.g, args.h, args.i, args.j == 0, (double)args.k, (float)args.l); }
usdt:$here/program:busy:parts { printf("%s %d %s %d %d\n", str(args.bytes, args.bytes_len), args.small, str(args.of, args.of_len), args.p == 0, args.r); }
END
engines=" user"
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    engines="$engines kernel"
    ! have bpftrace || engines="$engines bpftrace"
fi
for engine in $engines; do
    printf 'turn\nturn\n' >input
    if [ $engine = bpftrace ]; then
        timeout 100 bpftrace -c "$here/program" script.bt <input >out 2>err || fail "bpftrace: $(cat err)"
    else
        timeout 100 fastsdt-trace --engine $engine --read-memory script.bt -- ./program <input >out 2>err || fail "$engine: $(cat err)"
        ! grep -q '^sites [1-9]' out || grep -Eq '^sites ([0-9]+) of \1 armed.*dropped 0$' out || fail "$engine: $(cat out)"
    fi
    read -r steps wrong < <(grep -E '^[0-9]+ [0-9]+$' out | tail -n 1)
    expect "$engine: the program's turns" "$wrong $((steps > 10000))" "0 1"
    for line in "@n: $steps" "@text[step]: $steps" "@none: 1" "all -1 255 -2 65535 -3" "parts bytes -7 0"; do
        grep -Fqx -- "$line" out || fail "$engine: no '$line': $(cat out err)"
    done
    ! grep -q '^@bad: [1-9]' out || fail "$engine: arguments of different hits: $(cat out)"
done
for engine in ${engines/bpftrace/}; do
    timeout 100 fastsdt-trace --engine $engine --read-memory named.bt -- ./program </dev/null >out 2>err || fail "$engine: $(cat err)"
    for line in "-1 255 -2 65535 -3 4294967295 -4 5 1 0 1.5 2.5" "bytes -7 named 0 120"; do
        grep -Fqx -- "$line" out || fail "$engine: no '$line': $(cat out err)"
    done
done

# ---- Whose stack: as the program's functions call each other.
timeout 100 fastsdt-trace --engine user -e 'usdt:./program:busy:none { @[ustack(3)] = count(); }' -- ./program </dev/null >out 2>err || fail "ustack: $(cat err)"
grep -q 'main\.none (inlined)' out && grep -q 'main\.main+' out || fail "ustack: $(cat out)"

# ---- While it runs by itself.
rm -f input
mkfifo input
./program alone <input >answers 2>&1 &
program=$!
exec 3>input
rounds=20
! whole || rounds=200
for ((i = 0; i < rounds; ++i)); do
    engine=user
    [[ $engines != *kernel* ]] || ((i % 4)) || engine=kernel
    timeout 100 fastsdt-trace --engine $engine --read-memory -p $program --duration 0.05 -e 'usdt:./program:busy:step { @n = count(); @text[str(arg2, arg3)] = count(); }
        usdt:./program:busy:step /arg1 != arg0 * 3 + 1/ { @bad = count(); }' >out 2>err || fail "round $i, $engine: $(cat err out answers)"
    grep -q '^@bad: 0$' out || fail "round $i, $engine: $(cat out)"
done
# Tracers that are killed: the next one finds its way.
for ((i = 0; i < 5; ++i)); do
    { timeout -s KILL 0.1 fastsdt-trace --engine user -p $program -e 'usdt:./program:busy:step { @n = count(); }' >out 2>&1; } 2>killed || true
done
timeout 100 fastsdt-trace --engine user -p $program --duration 0.05 -e 'usdt:./program:busy:step { @n = count(); }' >out 2>err || fail "after killed ones: $(cat err)"
exec 3>&-
status=0
wait $program || status=$?
expect "the program's status ($(cat answers))" $status 0
read -r steps wrong <answers
expect "what the program computed ($steps steps)" "$wrong" 0
echo "tried:$engines, $rounds rounds, $(go env GOVERSION)"
