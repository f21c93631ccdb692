// SPDX-License-Identifier: BSD-2-Clause
//
// Goroutines whose stacks grow and move, with panics and a busy garbage collector, as churn.c: each line "go" or "quiet".
package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

var passes, wrong atomic.Int64
var stopping atomic.Bool

//go:noinline
func deep(depth, value int64) int64 {
	var room [64]int64
	room[depth%64] = value
	if depth == 0 {
		if value%5 == 0 {
			panic(value)
		}
		return room[0]
	}
	return deep(depth-1, value) + room[depth%64] - value
}

//go:noinline
func recovered(value int64) (result int64) {
	defer func() {
		if what := recover(); what != nil {
			result = what.(int64)
		}
	}()
	return deep(value%200, value)
}

func work(first int64) {
	for i := first; !stopping.Load(); i++ {
		if recovered(i) != i {
			wrong.Add(1)
		}
		kept := make([]byte, i%4096)
		if len(kept) > 0 && kept[len(kept)-1] != 0 {
			wrong.Add(1)
		}
		passes.Add(1)
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	var threads sync.WaitGroup
	for lines.Scan() {
		if lines.Text() == "go" {
			stopping.Store(false)
			for i := int64(0); i < 8; i++ {
				threads.Add(1)
				go func() { defer threads.Done(); work(i * 1000) }()
			}
			fmt.Println("going")
		} else {
			stopping.Store(true)
			threads.Wait()
			fmt.Printf("quiet %d %d 0\n", passes.Load(), wrong.Load())
		}
	}
}
