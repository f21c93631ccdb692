#!/bin/bash
# Functions of Go programs under the kernel's engine: entries once a call, also where the stack grows; returns, with no return address replaced;
# arguments and results by Go's registers; calls that go on on another thread.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
need_go
need_uprobes
cat >calls.go <<'END'
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

type server struct{ total int }

//go:noinline
func (s *server) add(n int, name string, more int) (int, int) {
	s.total += n
	return n + more, len(name)
}

//go:noinline
func deep(n int) int { // a goroutine's first stack is too small for this
	var pad [600]byte
	if n == 0 {
		return 1
	}
	pad[n%600] = byte(n)
	return deep(n-1) + int(pad[n%7])*0 + 1
}

//go:noinline
func waits(n int) int { // goes on on whichever thread is free
	time.Sleep(time.Millisecond)
	runtime.Gosched()
	return n
}

//go:noinline
func fails(n int) (out int) {
	defer func() {
		if recover() != nil {
			out = -1
		}
	}()
	if n%2 == 1 {
		panic("odd")
	}
	return n
}

func main() {
	sums := make(chan int)
	for g := 0; g < 16; g++ {
		go func() {
			s := &server{}
			sum := 0
			for i := 0; i < 20; i++ {
				sum += deep(100) + waits(1) + fails(i)
				a, b := s.add(i, "name", 1000)
				sum += a + b
				if i%5 == 0 {
					runtime.GC()
				}
			}
			sums <- sum
		}()
	}
	total := 0
	for g := 0; g < 16; g++ {
		total += <-sums
	}
	fmt.Println("total", total)
	if len(os.Args) > 1 {
		panic("as asked")
	}
}
END
go build -o calls calls.go || fail "go cannot build it"
plain=$(./calls)
trace() { # WANTED-STATUS OPTIONS...
    local wanted=$1 status=0
    shift
    timeout 120 fastsdt-trace "$@" >out 2>err </dev/null || status=$?
    expect "$*: status ($(cat err out))" "$status" "$wanted"
    grep -qxF "$plain" out || fail "$*: the program: $(cat out err), and not $plain"
}
for engine in kernel auto; do
    trace 0 --engine $engine -e 'uprobe:./calls:main.deep { @in = count(); @n = sum(arg0); } uretprobe:./calls:main.deep { @out = count(); @result = max(retval); }
        uprobe:./calls:main.waits { @waits_in = count(); } uretprobe:./calls:main.waits { @waits_out = count(); }
        uprobe:./calls:main.fails { @fails_in = count(); } uretprobe:./calls:main.fails { @fails_out = count(); }' -- ./calls
    expect "$engine" "$(grep '^@' out | sort | xargs)" \
        "@fails_in: 320 @fails_out: 320 @in: 32320 @n: $((320 * 5050)) @out: 32320 @result: 101 @waits_in: 320 @waits_out: 320"
done
# A method: the receiver, a number, a text of two words, a number. Its name needs quotes.
trace 0 -e 'uprobe:./calls:"main.(*server).add" { @n = sum(arg1); @text[str(arg2, arg3)] = count(); @more = sum(arg4); } uretprobe:./calls:"main.(*server).add" { @out = sum(retval.r0); }' -- ./calls
expect "a method" "$(grep '^@' out | sort | xargs)" "@more: 320000 @n: 3040 @out: 323040 @text[name]: 320"
for engine in kernel user; do
    trace 0 --engine $engine -e 'uprobe:./calls:main.waits { @[goid] = count(); } uretprobe:./calls:main.waits { @left[goid] = count(); }' -- ./calls
    expect "$engine: goroutines and their calls" \
        "$(sed -n 's/^@\[[1-9][0-9]*\]: /in /p; s/^@left\[[1-9][0-9]*\]: /out /p' out | sort | uniq -c | xargs)" "16 in 20 16 out 20"
done
# The time of a call is that of its goroutine.
trace 0 latency ./calls:main.waits -- ./calls
grep -q '^@total: count 320, ' out || fail "latency: $(cat out)"
[ "$(sed -n 's/^@total: count [0-9]*, average \([0-9]*\), .*/\1/p' out)" -ge 1000000 ] || fail "latency: less than it sleeps: $(cat out)"
# All functions of the program and of the runtime in it.
trace 1 --engine kernel -e 'uprobe:./calls:* { @in = count(); } uretprobe:./calls:* { @out = count(); }' -- ./calls
[ "$(sed -n 's/^@in: //p' out)" -gt 32320 ] || fail "all functions: $(cat out)"
status=0
timeout 60 fastsdt-trace --engine kernel -e 'uprobe:./calls:main.* { @in = count(); } uretprobe:./calls:main.* { @out = count(); }' \
    -- ./calls panic >out 2>err </dev/null || status=$?
grep -q '^main.main()$' err || fail "a panic's trace: $(cat err)"
! grep -q 'unexpected return pc\|unknown caller' err || fail "a panic's trace: $(cat err)"
# Stripped: the names are in the table that the runtime unwinds with.
go build -ldflags='-s -w' -o stripped calls.go || fail "go cannot build it stripped"
trace 0 --engine kernel -e 'uprobe:./stripped:"main.(*server).add" { @n = sum(arg1); @at[ustack(1)] = count(); } uretprobe:./stripped:main.deep { @out = count(); }' -- ./stripped
grep -qx '@n: 3040' out && grep -qx '@out: 32320' out && grep -q 'main\.(\*server)\.add+' out || fail "stripped: $(cat out err)"
