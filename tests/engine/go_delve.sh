#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# delve comes to a Go program whose functions are armed: it stops where it stops in one that nobody traces, with the same arguments and stacks, and
# each call is counted. While delve is there no other tracer can come, and one that ends cannot take its sites back: both say so, and the next one
# does it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
need_go
need_attachable
export GOTOOLCHAIN=local
# A release's own, or one from the module proxy, which go keeps. Delve 1.N knows Go's up to 1.N.
delve=$(command -v dlv || true) version=$(go env GOVERSION)
known=$([ -z "$delve" ] || "$delve" version | sed -nE 's/^Version: (1\.[0-9]+).*/go\1.99/p')
if [ -z "$known" ] || [ "$(printf '%s\n' "$known" "$version" | sort -V | sed -n 1p)" = "$known" ]; then
    module=github.com/go-delve/delve/cmd/dlv@v1.27.2
    [ "$(printf '%s\n' go1.24 "$version" | sort -V | sed -n 1p)" = go1.24 ] || module=${module%@*}@v1.21.2 # of Go 1.18 to 1.21
    modules=$FASTSDT_BUILD/tests/go-modules
    GOBIN=$PWD GOMODCACHE=$modules timeout 400 go install -modcacherw "$module" >install.log 2>&1 ||
        skip "dlv is not installed, and go does not get $module: $(tail -n 1 install.log)"
    delve=$PWD/dlv
fi
user_folder
export HOME=$user NO_COLOR=1 TERM=dumb
cat >stops.go <<'END_GO'
package main

import "bufio"
import "fmt"
import "os"
import "sync"
import "sync/atomic"
import "time"

var calls, wrong int64
var work sync.RWMutex // whoever works has it

//go:noinline
func small(n int64, name string) int64 {
	return large(n, len(name)) + 1
}

//go:noinline
func large(n int64, more int) int64 {
	var some [300]byte
	some[frameless(same)%300] = byte(more)
	return n + int64(some[0]+some[1])*0
}

//go:noinline
func frameless(f func() int64) int64 {
	return f()
}

//go:noinline
func same() int64 { return 7 }

func works(n int64) {
	for ; ; n++ {
		work.RLock()
		atomic.AddInt64(&calls, 1)
		if small(n, "a name") != n+1 {
			atomic.AddInt64(&wrong, 1)
		}
		work.RUnlock()
		time.Sleep(100 * time.Microsecond)
	}
}

func main() {
	work.Lock()
	for n := int64(0); n < 3; n++ {
		go works(n * 1000000)
	}
	resting := true
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); resting = !resting { // each line ends their rest, or their work
		if !resting {
			work.Lock()
			fmt.Println("did", wrong, calls)
			continue
		}
		now := calls
		for work.Unlock(); atomic.LoadInt64(&calls) < now+30; {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("works")
	}
}
END_GO
works() { echo >&3 && read -r answer <&4 && expect "$version: the program" "$answer" works; }
# rests: leaves calls, of all its time.
rests() {
    echo >&3
    read -r answer wrong calls <&4
    expect "$version: the program, and wrong results" "$answer $wrong" "did 0"
}
# comes COMMAND...: delve, and what it is told first. commands: the next. goes: the last of them.
comes() {
    rm -f to_delve delve.out && mkfifo to_delve
    : >delve.out
    timeout 300 "$delve" attach $pid --allow-non-terminal-interactive=true <to_delve >delve.out 2>&1 3>&- 4<&- &
    debugger=$!
    exec 6>to_delve
    commands "$@"
}
commands() { printf '%s\n' "$@" >&6; }
goes() {
    commands "$@" exit n
    exec 6>&-
    wait $debugger || fail "$version: delve: $(cat delve.out)"
}
stops() {
    until matches -a '^=>.*func small' <delve.out; do kill -0 $debugger 2>/dev/null || fail "$version: delve: $(cat delve.out)"; done
}
# visits: where it stops, which arguments functions have there, and who calls them.
visits() {
    comes 'break main.small' continue args 'bt 3' continue continue clearall
    goes 'break main.frameless' continue 'bt 3' clearall stepout 'bt 2' next next 'break main.large' continue args clearall
    sed -nE 's/^\(dlv\) //; /^(=>|[0-9]+ +0x|name = |more = )/p' delve.out
}
tracer_comes() {
    attach 'uprobe:./stops:main.small, uprobe:./stops:main.large, uprobe:./stops:main.frameless { @in[func] = count(); }
        uretprobe:./stops:main.small, uretprobe:./stops:main.large { @out[func] = count(); }'
    before=$calls
}
# counted COMMAND...: each call and each return is counted while the program works and COMMAND does something.
counted() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        tracer_comes
        works
        "$@"
        rests
        kill -INT $tracer
        report
        is_own || fail "$version: its code is not its file's"
        # A word of a stack may look like somebody in a site; it is armed a second later then, and the status says so: once more.
        [ $status != 1 ] || ! matches '^sites .*only since' <maps || continue
        expect "$version: the tracer's status ($(cat err maps))" $status 0
        for which in 'in\[main.small' 'in\[main.large' 'in\[main.frameless' 'out\[main.small' 'out\[main.large'; do
            expect "$version: $which" "$(sed -n "s/^@$which\]: //p" maps)" $((calls - before))
        done
        return
    done
    fail "$version: ten tracers armed a site late: $(cat maps)"
}
twice() { visits >traced1 && visits >traced2; }
is_own() {
    python3 -c "import sys
sys.path.insert(0, sys.argv[2])
from traced import Traced
process = Traced(int(sys.argv[1]))
sys.exit(any(process.text_differs()))" $pid "$FASTSDT_SOURCE/tests/engine"
}
for go in go /usr/lib/go-1.19/bin/go; do
    have "$go" || continue
    rm -f in answers report
    "$go" build -o stops stops.go || fail "$go cannot build it"
    version=$("$go" version)
    calls=0
    driven ./stops

    counted twice
    works
    visits >alone
    expect "$version: what delve says of them" "$(grep -c 'func small\|name = "a name"\|more = 6\|main.works' alone)" 8
    for n in 1 2; do diff alone traced$n || fail "$version: delve of a traced program (>) and by itself (<): $(cat delve.out)"; done

    # It is there first.
    comes 'break main.small' continue
    stops
    status=0
    "${as_user[@]}" fastsdt-trace --engine user -t 0.1 -p $pid -e 'uprobe:./stops:main.* { @ = count(); }' >out 2>err 3>&- 4<&- 6>&- || status=$?
    expect "$version: beside delve ($(cat out))" \
        "$status $(cut -d' ' -f2- err | sed "s/$pid/PID/; s/$debugger/DELVE/; s/[0-9]\+ (dlv)/DELVE (dlv)/")" \
        "2 process PID: process DELVE (dlv) traces it, and only one can; detach that first"
    goes continue clearall
    rests
    counted true

    # It stays when the tracer goes: the sites stay too, and count nothing any more; the next tracer takes them back.
    tracer_comes
    works
    comes 'break main.small' continue
    stops
    kill -INT $tracer
    report
    expect "$version: a tracer that delve keeps ($(cat maps))" "$status $(grep -c 'the sites stay armed, .* (dlv) traces it' err)" "1 1"
    goes continue continue clearall 'break main.frameless' continue clearall
    rests
    counted true
    exec 3>&- 4<&-
    wait $pid || fail "$version: the program ended with $?"
done
