#!/bin/bash
# Functions of Go programs under the user engine, by an ordinary user: counts as the program's own (churn.go), goid, latency, what cannot be armed;
# tracers that come and go, many of them killed, while goroutines are preempted everywhere; the runtime's own dumps; a standard library's test.
# tests/long/move-go.sh has many more of those.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
need_go
need_attachable
here=$PWD
go build -o goes "$FASTSDT_SOURCE/tests/engine/churn.go" || fail "go cannot build it"
rm -rf c
if have gcc; then
    mkdir c
    cp "$FASTSDT_SOURCE/tests/engine/churn.go" "$FASTSDT_SOURCE/tests/engine/churn_c.go" c
    mode=exe
    ! whole || mode=pie # takes all packages once more
    (cd c && CGO_ENABLED=1 go build -buildmode=$mode -o goes churn.go churn_c.go) || fail "go cannot build it with C"
fi
go test -c -o strconv.test strconv || fail "go cannot build a test of the standard library"
user_folder
cp "$here/goes" "$here/strconv.test" .
[ ! -d "$(go env GOROOT)/src/strconv/testdata" ] || cp -r "$(go env GOROOT)/src/strconv/testdata" . # Go 1.19 reads it from there
trace() { # WANTED-STATUS OPTIONS...
    local wanted=$1 status=0
    shift
    timeout 120 "${as_user[@]}" fastsdt-trace --engine user "$@" >"$here/out" 2>"$here/err" </dev/null || status=$?
    expect "$*: status ($(cat "$here/err" "$here/out"))" "$status" "$wanted"
}
maps() { grep "^@$1: " "$here/out" | cut -d' ' -f2; }
own() { sed -n 's/^did //p' "$here/out"; }

# ---- Programs that are started: each call and each return is counted, and the program finds nothing wrong.
trace 0 -e 'uprobe:./goes:main.counted { @in = count(); @value = sum(arg0); } uretprobe:./goes:main.counted { @left = count(); @result = sum(retval); }
    uprobe:./goes:main.deep { @deep = count(); @by[goid] = count(); } uprobe:./goes:main.recovered { @recovered_in = count(); }
    uretprobe:./goes:main.recovered { @recovered = count(); } uprobe:./goes:main.pass { @pass = count(); }' -- ./goes 100
read -r passes wrong entered left < <(own)
expect "wrong" "$wrong" 0
expect "entries" "$(maps in)" "$entered"
expect "returns" "$(maps left)" "$left"
expect "a function that recovers" "$(maps recovered_in) $(maps recovered) $(maps pass)" "$passes $passes $passes"
# Each goroutine has 100 values, 1000 * its number and so on; every 64th once more. A result is 1 more where the value is 2 modulo 4.
read -r value result < <(python3 -c "
all = [1000 * g + n for g in range(8) for n in range(100)]
all += [v for v in all if v % 64 == 0]
print(sum(all), sum(v + (v % 4 == 2) for v in all))
print(sum(v % 200 + 1 for v in all))" | xargs | cut -d' ' -f1,2)
expect "arg0 and retval" "$(maps value) $(maps result)" "$value $result"
[ "$(grep -c '^@by\[[1-9]' "$here/out")" -ge 8 ] || fail "goid: $(cat "$here/out")"
expect "calls by goroutine" "$(sed -n 's/^@by\[.*: //p' "$here/out" | python3 -c 'import sys; print(sum(map(int, sys.stdin)))')" "$(maps deep)"
"${as_user[@]}" fastsdt-trace -e 'uprobe:./goes:main.counted { @in = count(); }' -- ./goes 10 >"$here/out" 2>"$here/err" ||
    fail "auto: $(cat "$here/err")"
expect "auto" "$(maps in)" "$(own | cut -d' ' -f3)"
# All functions of the program, and of the runtime in it.
trace 0 -e 'uprobe:./goes:* { @in = count(); } uretprobe:./goes:* { @out = count(); }' -- ./goes 100
expect "all functions: wrong" "$(own | cut -d' ' -f2)" 0
[ "$(maps in)" -gt 1000000 ] || fail "all functions: $(cat "$here/out")"
trace 0 latency ./goes:main.turn -- ./goes 50
grep -q '^@total: count ' "$here/out" || fail "latency: $(cat "$here/out")"
expect "latency" "$(sed -n 's/^@total: count \([0-9]*\),.*/\1/p' "$here/out")" "$(own | cut -d' ' -f1)"
trace 0 top --functions main.turn --duration 20 -- ./goes 50
grep -q 'main\.turn' "$here/out" || fail "top: $(cat "$here/out")"
trace 0 --read-memory -e 'uprobe:./strconv.test:strconv.Atoi { @[str(arg0, arg1)] = count(); @t[tid] = count(); }' \
    -- ./strconv.test -test.short -test.run TestAtoi
grep -q '^@\[12345\]: ' "$here/out" || fail "str() of a string: $(cat "$here/out" "$here/err")"
trace 0 -e 'uprobe:./strconv.test:* { @in = count(); } uretprobe:./strconv.test:* { @out = count(); }' -- ./strconv.test -test.short
grep -qx PASS "$here/out" || fail "strconv: $(cat "$here/out" "$here/err")"

# A thread of C's calls Go: at its end it has no g any more (runtime.dropm, which has a check of its stack until Go 1.20).
if [ -d c ] || [ -d "$here/c" ]; then
    mkdir -p "$here/calls"
    cat >"$here/calls/calls.go" <<'END'
package main

/*
#include <pthread.h>
extern void counts(int);
static void* run(void* unused) { for (int i = 0; i < 3; i++) counts(i); return unused; }
static void calls(void) { pthread_t thread; pthread_create(&thread, 0, run, 0); pthread_join(thread, 0); }
*/
import "C"

var counted int

//export counts
func counts(i C.int) { counted += int(i) }

func main() {
	for i := 0; i < 50; i++ {
		C.calls()
	}
	println("counted", counted)
}
END
    (cd "$here/calls" && CGO_ENABLED=1 go build -o ../back calls.go) || fail "go cannot build calls from C"
    cp "$here/back" .
    trace 0 --read-memory functions --functions 'runtime.*' -- ./back
    grep -qx 'counted 150' "$here/err" || fail "calls from C: $(cat "$here/err")"
fi

# ---- What is not armed, and why.
trace 1 -e 'uprobe:./goes:main.element { @ = count(); }' -- ./goes 1
grep -q 'without a check of its stack' "$here/out" || fail "a function without a check: $(cat "$here/out")"
LC_ALL=C sed 's/go1\.[0-9][0-9]/go1.99/' goes >newer # a version that nobody knows yet, of the same length
chmod 755 newer
trace 1 -e 'uprobe:./newer:main.counted { @ = count(); }' -- ./newer 1
grep -q 'runtime is not known.*--engine kernel' "$here/out" || fail "an unknown version: $(cat "$here/out")"

# ---- A program that runs: what it counts of itself while it is traced is what is counted here.
mkfifo in answers report
: >dump
chown 65534:65534 in answers report 2>/dev/null || true
"${as_user[@]}" ./goes <in >answers 2>dump &
pid=$!
exec 3>in 4<answers
program=$PWD/goes
ask() { echo "$1" >&3; read -r answer <&4; }
busy_until() { # PASSES: so many more
    local start passes
    ask quiet
    start=$(cut -d' ' -f2 <<<"$answer") passes=0
    until [ "$passes" -ge "$1" ]; do
        ask go
        ask quiet
        passes=$(($(cut -d' ' -f2 <<<"$answer") - start))
    done
    expect "wrong results of the program" "$(cut -d' ' -f3 <<<"$answer")" 0
}
busy_until 200
ask counts
read -r _ entered_before left_before <<<"$answer"
attach 'uprobe:./goes:main.counted { @in = count(); } uretprobe:./goes:main.counted { @left = count(); } uprobe:./goes:main.short { @short = count(); }
    uprobe:./goes:runtime.* { @runtime = count(); } uretprobe:./goes:runtime.* { @out = count(); }'
busy_until 1000
kill -INT $tracer
report
expect "the tracer ($(cat err maps))" "$status" 0
ask counts
read -r _ entered left <<<"$answer"
expect "entries while it runs" "$(sed -n 's/^@in: //p' maps)" $((entered - entered_before))
expect "returns while it runs" "$(sed -n 's/^@left: //p' maps)" $((left - left_before))
# Attached while it is busy, and gone again: nothing of ours stays, whatever it did just then.
ask go
for _ in 1 2 3 4 5; do
    trace 0 -p $pid --duration 0.05 -e 'uprobe:./goes:* { @in = count(); } uretprobe:./goes:* { @out = count(); }'
    grep -q '^sites \([0-9]*\) of \1 armed' "$here/out" || fail "armed while it runs: $(cat "$here/out")"
done
busy_until 100
! sed "s,$user,," "/proc/$pid/maps" | matches 'fastsdt\|rwxp' || fail "something of ours is mapped: $(cat "/proc/$pid/maps")"
cmp <(text) <(python3 -c "import subprocess, sys
for line in subprocess.check_output(['readelf', '-lW', 'goes'], text=True).splitlines():
    words = line.split()
    if words[:1] == ['LOAD'] and 'E' in words[6:8]:
        offset, size = int(words[1], 16), int(words[4], 16)
        code = open('goes', 'rb').read()[offset:offset + size]
        sys.stdout.buffer.write(code.ljust((size + 4095) // 4096 * 4096, b'\0'))") || fail "its code is not its file's"

# Goroutines that wait stand between instructions that would move: where that is so nothing moves, until they have gone on.
ask tight
for _ in 1 2 3 4 5; do
    trace 0 -p $pid --duration 0.3 -e 'uprobe:./goes:main.* { @in = count(); } uretprobe:./goes:main.* { @out = count(); }'
    grep -q '^sites \([0-9]*\) of \1 armed' "$here/out" || fail "armed in loops: $(cat "$here/out")"
done
ask quiet
expect "wrong results in loops" "$(cut -d' ' -f3 <<<"$answer")" 0

# ---- The runtime's own dump while all is armed.
ask go
attach 'uprobe:./goes:* { @in = count(); } uretprobe:./goes:* { @out = count(); }'
kill -QUIT $pid
status=0
wait $pid || status=$?
exec 3>&- # before that it would have ended by itself
expect "SIGQUIT" $status 2
report
for frame in 'main\.work(' 'main\.main(' 'created by main\.start'; do
    grep -q "^$frame" dump || fail "the dump has no $frame: $(cat dump)"
done
cd "$here"

# ---- Tracers of which many are killed, one after the other and two at once. The same with C code in it.
rounds=25 with_c=8
! whole || rounds=100 with_c=20
"$FASTSDT_SOURCE/tests/engine/churn.py" $rounds "${FASTSDT_CHURN_SEED:-1}" ./goes
[ ! -x c/goes ] || (cd c && "$FASTSDT_SOURCE/tests/engine/churn.py" $with_c "${FASTSDT_CHURN_SEED:-1}" ./goes)
