#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# gdb comes to a Go program whose functions are armed: it has the same stacks and stops at the same places as in one that nobody traces, and the
# program goes on. Debuggers break behind a function's first instructions, which must not be inside of a jump.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gdb python3
need_go
need_attachable
user_folder
cat >stops.go <<'END_GO'
package main

import "bufio"
import "fmt"
import "os"
import "sync/atomic"
import "time"

var rounds, wrong int64
var works int32

//go:noinline
func small(n int64) int64 {
	return large(n) + 1
}

//go:noinline
func large(n int64) int64 {
	var some [300]byte
	some[(leaf(n)+frameless(same))%300]++
	return n + int64(some[0]+some[1])*0
}

//go:noinline
func frameless(f func() int64) int64 {
	return f()
}

//go:noinline
func same() int64 { return 7 }

//go:noinline
func leaf(n int64) int64 {
	if n < 0 {
		panic(fmt.Sprint(n))
	}
	return n
}

func main() {
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); { // each line ends its rest, or its work
			atomic.StoreInt32(&works, 1-works)
			for now := atomic.LoadInt64(&rounds); works == 1 && now == atomic.LoadInt64(&rounds); {
				time.Sleep(time.Millisecond)
			}
			fmt.Println("did", wrong, rounds > 0)
		}
		os.Exit(0)
	}()
	for n := int64(0); ; n++ {
		for atomic.LoadInt32(&works) == 0 {
			time.Sleep(time.Millisecond)
		}
		atomic.AddInt64(&rounds, 1)
		if small(n) != n+1 {
			wrong++
		}
	}
}
END_GO
# works_or_rests: the other of the two.
works_or_rests() {
    echo >&3
    read -r answer <&4
    expect "$version: the program" "$answer" "did 0 true"
}
# gdb_says: where it stops, by function and line, and which functions are on the stack there.
gdb_says() {
    timeout 100 gdb -nx -q -batch -p $pid -ex 'tbreak main.small' -ex continue -ex 'backtrace 4' -ex 'tbreak main.large' -ex continue \
        -ex 'backtrace 4' \
        -ex 'tbreak main.frameless' -ex continue -ex 'backtrace 4' -ex 'tbreak main.leaf' -ex continue -ex 'backtrace 5' -ex finish -ex finish \
        -ex 'break main.small' -ex continue -ex continue -ex 'backtrace 4' \
        -ex delete -ex detach </dev/null >gdb.out 2>&1 || fail "gdb: $(cat gdb.out)"
    # It may be anywhere when gdb comes.
    sed '1,/^Temporary breakpoint 1 /d' gdb.out | sed -nE 's/.*(main\.[a-z]*) \(.*\/(stops\.go:[0-9]+)$/\1 \2/p'
}
tried=0
for go in go /usr/lib/go-1.19/bin/go; do
    have "$go" || continue
    rm -f in answers report
    GOTOOLCHAIN=local "$go" build -o stops stops.go || fail "$go cannot build it"
    driven ./stops
    version=$("$go" version)
    attach 'uprobe:./stops:main.* { @[func] = count(); } uretprobe:./stops:main.* { @out = count(); }'
    works_or_rests
    for n in 1 2 3; do gdb_says >traced$n; done
    works_or_rests
    kill -INT $tracer
    report
    # A word of a stack may look like somebody in a site; it is armed a second later then, and the status says so.
    [ $status -le 1 ] || fail "$version: the tracer, status $status: $(cat err maps)"
    grep -q '^sites \([0-9]*\) of \1 armed' maps || fail "$version: sites: $(cat err maps)"
    grep -q '^@\[main\.leaf\]: [1-9]' maps || fail "$version: $(cat maps)"
    cmp <(text) <(python3 -c "import os, sys
for line in open(f'/proc/{sys.argv[1]}/maps'):
    at, what, offset = line.split()[:3]
    if 'x' in what and line.rstrip().endswith(' ' + sys.argv[2]):
        start, end = (int(x, 16) for x in at.split('-'))
        sys.stdout.buffer.write(os.pread(os.open(sys.argv[2], os.O_RDONLY), end - start, int(offset, 16)).ljust(end - start, b'\0'))" "$pid" \
            "$program") ||
        fail "$version: its code is not its file's"
    works_or_rests
    gdb_says >alone
    expect "$version: lines of gdb's that are read" "$(grep -c 'main\.small' alone)" 9
    for n in 1 2 3; do diff alone traced$n || fail "$version: gdb of a traced program (>) and by itself (<): $(cat gdb.out)"; done
    works_or_rests
    exec 3>&- 4<&-
    wait $pid || fail "$version: the program ended with $?"
    tried=$((tried + 1))
done
[ $tried -gt 0 ]
