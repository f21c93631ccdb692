#!/bin/bash
# Probes of a Go program live: each hit counted, arguments right, in both engines and in bpftrace; tracers that come and go while stacks grow, the
# heap is collected and a profile is taken, and what the program computes is right.
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
timeout 100 fastsdt-trace --engine user -e 'usdt:./program:busy:none { @[ustack(3)] = count(); }' -- ./program </dev/null >out 2>err ||
    fail "ustack: $(cat err)"
grep -q 'main\.none (inlined)' out && grep -q 'main\.main+' out || fail "ustack: $(cat out)"

# ---- Who: goroutines, and threads without a C library that would know them.
for engine in ${engines/bpftrace/}; do
    printf 'turn\n' >input
    timeout 100 fastsdt-trace --engine $engine -e 'usdt:./program:busy:step { @g[goid] = count(); @t[tid] = count(); }' \
        -- ./program <input >out 2>err || fail "$engine, who: $(cat out err)"
    read -r steps wrong < <(grep -E '^[0-9]+ [0-9]+$' out | tail -n 1)
    for map in g t; do
        expect "$engine: @$map" "$(sed -n "s/^@$map\[[1-9][0-9]*\]: //p" out | paste -sd+ | python3 -c 'print(eval(input()))') $wrong" "$steps 0"
    done
    [ "$(grep -c '^@g' out)" -gt 50 ] || fail "$engine: goroutines: $(cat out)"
done
printf 'turn\n' >input
rm -rf trace
timeout 100 fastsdt-trace record --engine user -o trace --probes 'busy:none' -- ./program <input >out 2>err || fail "record: $(cat out err)"
grep -q '1 event of .* and 1 goroutine' err || fail "record: $(cat out err)"

# ---- With C code, in whose functions the register of g has anything. So has a program whose Go code nobody finds, all of whose functions may be C's.
if have gcc && [ "$(uname -m)" = x86_64 ]; then
    cat >both.go <<'END'
package main

import "both/c"

//fastsdt:probe both:order func Order(id int64)

func main() {
	n := 0
	for i := 0; i < 1000; i++ {
		Order(int64(i))
		n += c.Twice(i)
	}
	println("done", n)
}
END
    package both both.go
    mkdir both/c
    printf 'package c\n\n// long twice(long);\nimport "C"\n\nfunc Twice(i int) int { return int(C.twice(C.long(i))) }\n' >both/c/c.go
    cat >both/c/twice.c <<'END'
__attribute__((noinline)) long inner(long a)
{
    __asm__ volatile("nopl 8(%%rax, %%rax)" : "+D"(a));
    return a;
}
long twice(long a)
{
    register long r __asm__("r14") = 16;
    __asm__ volatile("" : "+r"(r));
    long b = inner(a);
    __asm__ volatile("" : "+r"(r));
    return a + b;
}
END
    (cd both && CGO_ENABLED=1 go build "${indexed[@]}" -o program .) || fail "go build, with C code"
    LC_ALL=C sed 's/\x00\.gopclntab\x00/\x00.gopclntaX\x00/' both/program >both/unknown
    chmod 755 both/unknown
    for file in program unknown; do
        probe=uprobe:./both/$file:inner
        for how in "-e $probe{@[goid]=count();}" "-e $probe{@[tid]=count();}" "functions --functions ./both/$file:inner"; do
            timeout 100 fastsdt-trace $how --engine user -- ./both/$file >out 2>&1 || true # it refuses what it cannot have
            grep -qx 'done 999000' out || fail "$file, $how: $(cat out)"
        done
    done
    timeout 100 fastsdt-trace --engine user \
        -e 'uprobe:./both/program:main.main { @main[goid] = count(); } usdt:./both/program:both:order { @order[goid] = count(); }
        uprobe:./both/program:inner { @inner = count(); }' -- ./both/program >out 2>&1 || fail "both: $(cat out)"
    for line in '@main[1]: 1' '@order[1]: 1000' '@inner: 1000'; do
        grep -Fqx "$line" out || fail "both: no '$line': $(cat out)"
    done
fi

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
    timeout 100 fastsdt-trace --engine $engine --read-memory -p $program --duration 0.05 \
        -e 'usdt:./program:busy:step { @n = count(); @text[str(arg2, arg3)] = count(); }
        usdt:./program:busy:step /arg1 != arg0 * 3 + 1/ { @bad = count(); }' >out 2>err || fail "round $i, $engine: $(cat err out answers)"
    grep -q '^@bad: 0$' out || fail "round $i, $engine: $(cat out)"
done
# Tracers that are killed: the next one finds its way.
for ((i = 0; i < 5; ++i)); do
    { timeout -s KILL 0.1 fastsdt-trace --engine user -p $program -e 'usdt:./program:busy:step { @n = count(); }' >out 2>&1; } 2>killed || true
done
timeout 100 fastsdt-trace --engine user -p $program --duration 0.05 -e 'usdt:./program:busy:step { @n = count(); }' >out 2>err ||
    fail "after killed ones: $(cat err)"
exec 3>&-
status=0
wait $program || status=$?
expect "the program's status ($(cat answers))" $status 0
read -r steps wrong <answers
expect "what the program computed ($steps steps)" "$wrong" 0
echo "tried:$engines, $rounds rounds, $(go env GOVERSION)"
