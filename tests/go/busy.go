// SPDX-License-Identifier: BSD-2-Clause

// Command busy passes its probes in goroutines whose stacks grow, while the heap is collected and a profile is taken. It reads lines: "turn", after
// which it has done that once more and says how often it has called its probes and what was wrong.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

//fastsdt:probe busy:step func step(n int64, check int64, text string)
//fastsdt:probe busy:all func all(a int8, b uint8, c int16, d uint16, e int32, f uint32, g int, h uint, i bool, j *node, k float64, l float32)
//fastsdt:probe busy:parts func parts(bytes []byte, small int8, of named, p unsafe.Pointer, r rune)
//fastsdt:probe busy:none func none()
//fastsdt:probe busy:never func never(n int)

type node struct{ next *node }
type named string

func unused() { never(1) }

var steps, wrong int64

// Each level has values that a register or a stack which a tracer spoils would change.
func deep(n int64, left int) int64 {
	var frame [24]int64
	for i := range frame {
		frame[i] = n + int64(i)
	}
	before := n * 3
	step(n, 3*n+1, "step")
	atomic.AddInt64(&steps, 1)
	garbage := &node{new(node)}
	var below int64
	if left > 0 {
		below = deep(n+1, left-1)
	}
	for i := range frame {
		if frame[i] != n+int64(i) || before != n*3 || garbage.next == nil {
			atomic.AddInt64(&wrong, 1)
		}
	}
	return below + 1
}

func turn() {
	var all sync.WaitGroup
	for g := int64(0); g < 8; g++ {
		all.Add(1)
		go func(g int64) {
			defer all.Done()
			for i := 0; i < 20; i++ {
				// A goroutine of its own has a small stack that grows.
				done := make(chan int64)
				go func() { done <- deep(g*1000, 60) }()
				if <-done != 61 {
					atomic.AddInt64(&wrong, 1)
				}
			}
		}(g)
	}
	for i := 0; i < 5; i++ {
		runtime.GC()
		runtime.Gosched()
	}
	all.Wait()
}

func main() {
	none()
	all(-1, 255, -2, 65535, -3, 4294967295, -4, 5, true, &node{}, 1.5, 2.5)
	parts([]byte("bytes"), -7, "named", unsafe.Pointer(&steps), 'x')
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	defer pprof.StopCPUProfile()
	if len(os.Args) > 1 { // by itself, until there is no input any more
		stop := make(chan bool)
		go func() {
			io.Copy(io.Discard, os.Stdin)
			close(stop)
		}()
		for begin := time.Now(); ; {
			turn()
			select {
			case <-stop:
				fmt.Println(steps, wrong)
				return
			default:
				if time.Since(begin) > 5*time.Minute {
					os.Exit(1) // whoever was to end it is gone
				}
			}
		}
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		turn()
		fmt.Println(steps, wrong)
	}
}
