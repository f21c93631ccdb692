#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is said about Go programs where something cannot be had: which result or function, what is missing in the program, and nothing that would
# harm it (--uretprobe) or that nobody can do (bpftrace). Names of methods and of generic functions are written as tracebacks have them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need_go
cat >said.go <<'END'
package main

import "os"

type box[T any] struct{ v T }

//go:noinline
func (b *box[T]) put(v T, n int) T {
	b.v = v
	two(n)
	return v
}

//go:noinline
func big(n int) (int, [20]int) {
	var r [20]int
	r[n%20], _ = two(n)
	return n, r
}

//go:noinline
func array(n int) [2]int {
	a, _ := two(n)
	return [2]int{a, n}
}

//go:noinline
func two(n int) (int, error) {
	_, err := os.Stat("")
	return n, err
}

//go:noinline
func leaf(n int) int { return n*n + 1 }

func main() {
	b := &box[int]{}
	for i := 0; i < 5; i++ {
		b.put(i, i)
		big(i)
		array(i)
		leaf(i)
	}
}
END
go build -o said said.go && go build -ldflags='-s -w' -o stripped said.go || fail "go cannot build it"
put=$(go tool nm said | sed -n 's/.* \(main\.(\*box\[go\.shape.*\)$/\1/p') # go.shape.int_0 in Go 1.19
put_stripped=$(fastsdt-trace --list ./stripped | sed -n 's/^uprobe:.*:\(main\.(\*box.*\)$/\1/p') # [...] there
# says STATUS WHAT OPTIONS...
says() {
    local wanted=$1 what=$2 status=0
    shift 2
    fastsdt-trace "$@" >out 2>err </dev/null || status=$?
    expect "$*: status ($(cat err out))" $status "$wanted"
    cat out err >both
    grep -qF -- "$what" both || fail "$* does not say \"$what\": $(cat both)"
    for never in --uretprobe bpftrace nop10 cpp:; do
        ! grep -qF -- "$never" both || fail "$* says \"$never\": $(cat both)"
    done
}
says 2 'the result r1 is on the stack' -e 'uretprobe:./said:main.big { @ = sum(retval.r0); }' -- ./said
says 2 'the result is on the stack' -e 'uretprobe:./said:main.array { @ = sum(retval[0]); }' -- ./said
says 2 'there is no result r2; the results are r0, r1' -e 'uretprobe:./said:main.two { @ = sum(retval.r2); }' -- ./said
says 2 './said has no function main.twoo' -e 'uprobe:./said:main.twoo { @ = sum(args.n); }' -- ./said
says 2 'means several functions' -e 'uprobe:./said:main.* { @ = sum(args.n); }' -- ./said
says 2 'where n is passed is not known: this is a generic method' -e "uprobe:./said:\"$put\" { @ = sum(args.n); }" -- ./said
says 2 './stripped has no debug information' -e 'uprobe:./stripped:main.two { @ = sum(args.n); }' -- ./stripped
says 2 'build it without' -e 'uretprobe:./stripped:main.two { @ = sum(retval.r0); }' -- ./stripped
says 1 '1 is a Go function without a check of its stack; --engine kernel traces it' --engine user -e 'uprobe:./said:main.leaf { @ = count(); }' \
    -- ./said
says 2 'nothing matches ./said:main.(*bix).put: ' latency './said:main.(*bix).put' -- ./said
says 1 'nothing matched --functions main.(*bix).put: ' functions --functions 'main.(*bix).put' -- ./said
# Names as they are.
says 0 "$put" functions --functions "$put" -- ./said
says 0 "$put_stripped" functions --functions 'main.(*box*' -- ./stripped
says 0 '@total: count 5,' latency "./said:$put" -- ./said
says 0 'os.Stat' functions --functions './stripped:os.Stat,./stripped:internal/*.*' -- ./stripped
says 0 '@: 10' -e "uprobe:./stripped:\"$put_stripped\" { @ = sum(arg3); }" -- ./stripped
