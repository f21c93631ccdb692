#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Go programs without symbols (-ldflags='-s -w'; position-independent, with C code) under the user engine, as go_user.sh has those with symbols: exact
# counts, all functions, goroutines and threads, tracers that come and go. Where the list of goroutines is not found, nothing moves.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
need_go
need_attachable
rm -rf c s
mkdir c s
cp "$FASTSDT_SOURCE/tests/engine/churn.go" c
go build -ldflags='-s -w' -o s/goes c/churn.go || fail "go cannot build it"
go build -o named c/churn.go || fail "go cannot build it with symbols"
programs=(s)
if have gcc; then # as distributions have them
    printf 'package main\n\n// static long same(long a) { return a; }\nimport "C"\n\nfunc init() { extra = func(i int64) { check(int64(C.same(C.long(i))) == i) } }\n' >c/c.go
    (cd c && CGO_ENABLED=1 go build -buildmode=pie -ldflags='-linkmode=external -s -w' -o goes churn.go c.go) || fail "go cannot build it with C"
    programs+=(c)
fi
trace() { # WANTED-STATUS OPTIONS...
    local wanted=$1 status=0
    shift
    timeout 120 fastsdt-trace --engine user "$@" >out 2>err </dev/null || status=$?
    expect "$*: status ($(cat err out))" "$status" "$wanted"
}
maps() { grep "^@$1: " out | cut -d' ' -f2; }
for program in "${programs[@]}"; do
    file=./$program/goes
    ! readelf -SW $file | matches '\.symtab' || fail "$file has symbols"
    trace 0 -e "uprobe:$file:main.counted { @in = count(); @value = sum(arg0); } uretprobe:$file:main.counted { @left = count(); @t[tid] = count(); }
        uprobe:$file:main.deep { @by[goid] = count(); } uretprobe:$file:main.recovered { @recovered = count(); }" -- $file 50
    read -r passes wrong entered left < <(sed -n 's/^did //p' out)
    expect "$file: counts" "$wrong $(maps in) $(maps left) $(maps recovered)" "0 $entered $left $passes"
    expect "$file: arg0" "$(maps value)" "$(python3 -c "
all = [1000 * g + n for g in range(8) for n in range(50)]
print(sum(all + [v for v in all if v % 64 == 0]))")"
    [ "$(grep -c '^@by\[[1-9]' out)" -ge 8 ] || fail "$file: goid: $(cat out)"
    expect "$file: calls by thread" "$(sed -n 's/^@t\[[1-9][0-9]*\]: //p' out | python3 -c 'import sys; print(sum(map(int, sys.stdin)))')" "$left"
    trace 0 -e "uprobe:$file:* { @in = count(); } uretprobe:$file:* { @out = count(); }" -- $file 20
    expect "$file: all functions: wrong" "$(sed -n 's/^did //p' out | cut -d' ' -f2)" 0
    [ "$(maps in)" -gt 300000 ] || fail "$file: all functions: $(cat out)"
    trace 0 functions --json --buffer 32M --functions 'main.*' -- $file 5
    passes=$(sed -n 's/^did \([0-9]*\) .*/\1/p' out)
    grep -q "\"calls\":$passes,.*\"function\":\"main.recovered\"" out || fail "$file: calls by goroutine: $(cat out)"
done

# What stays without names is the same code: but for its symbols' own (runtime.text), and functions that only symbols name, all that can move there
# can here.
fastsdt-check --armable named >with && fastsdt-check --armable s/goes >without || fail "--armable"
python3 - <<'END' || fail "what can be armed differs"
import re
with_names, without = ({int(line.split()[0], 16) for line in open(file) if re.match(r" *0x[0-9a-f]+ .* [0-9]+ bytes", line)} for file in ("with", "without"))
assert len(with_names) > 1000 and len(with_names ^ without) <= 3, sorted(map(hex, with_names ^ without))
END

# ---- Nothing moves in a program whose list of goroutines is not where it always is: the functions that would tell have another name here.
for name in runtime.forEachG runtime.allgadd runtime.asyncPreempt2; do
    LC_ALL=C sed "s/$name\x00/${name%?}X\x00/" s/goes >other
    chmod 755 other
    ! cmp -s other s/goes || fail "$name is not in the program"
    trace 1 -e 'uprobe:./other:main.counted { @ = count(); }' -- ./other 1
    grep -q 'sites 0 of 1 armed' out || fail "without $name: $(cat out)"
    expect "without $name: wrong" "$(sed -n 's/^did //p' out | cut -d' ' -f2)" 0
done

# ---- Tracers of which many are killed, while goroutines are preempted everywhere.
rounds=4 churned=("${programs[-1]}")
! whole || rounds=40 churned=("${programs[@]}")
for program in "${churned[@]}"; do
    (cd "$program" && "$FASTSDT_SOURCE/tests/engine/churn.py" $rounds "${FASTSDT_CHURN_SEED:-1}" ./goes)
done
