// SPDX-License-Identifier: BSD-2-Clause
//
// Goroutines whose stacks grow and move, that are preempted in loops, panic, go on on other threads and look at their own stacks, with a busy garbage
// collector, as churn.c: each line "go", "quiet", "tight" or "counts", which is of what the program has counted of itself. Each result is checked.
// `goes LOOPS`: each goroutine does so many passes, under its own profiler, and the program ends.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

var passes, wrong, entered, left atomic.Int64
var stopping atomic.Bool
var extra = func(int64) {} // another file may have something: C code

func check(right bool) {
	if !right {
		wrong.Add(1)
	}
}

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

//go:noinline
func element(of *[4]int64, i int64) int64 { return of[i&3] }

// So short that a goroutine in a loop of it is often preempted between the instructions of its entry.
//
//go:noinline
func short(a, b, c int64) int64 {
	var all [4]int64
	all[a&3] = b
	return element(&all, c) + a
}

// Its own entries and returns.
//
//go:noinline
func counted(value int64) int64 {
	entered.Add(1)
	value = short(value, 1, 2)
	left.Add(1)
	return value
}

//go:noinline
func frames(depth int) int {
	if depth > 0 {
		return frames(depth - 1)
	}
	counters := make([]uintptr, 100)
	all := runtime.CallersFrames(counters[:runtime.Callers(1, counters)])
	found := 0
	for {
		frame, more := all.Next()
		if frame.Function == "main.frames" {
			found++
		}
		if !more {
			return found
		}
	}
}

//go:noinline
func turn(numbers chan int64, value int64) int64 { // on whichever thread is free
	numbers <- value
	runtime.Gosched()
	return <-numbers
}

func pass(i int64, numbers chan int64) {
	check(recovered(i) == i)
	kept := make([]byte, i%4096)
	check(len(kept) == 0 || kept[len(kept)-1] == 0)
	sum := int64(0)
	for n := int64(0); n < 2000; n++ {
		sum += short(n, n, n+1)
	}
	check(sum == 1999000)
	check(counted(i)-i == [4]int64{0, 0, 1, 0}[i&3])
	if i%16 == 0 {
		check(frames(int(i%40)) == int(i%40)+1)
		check(strings.Contains(string(debug.Stack()), "main.pass("))
	}
	check(turn(numbers, i) == i)
	extra(i)
	passes.Add(1)
}

func work(first, most int64) {
	numbers := make(chan int64, 1)
	for i := first; !stopping.Load() && (most == 0 || i < first+most); i++ {
		pass(i, numbers)
		if i%64 == 0 { // and on another stack, which is small again
			done := make(chan bool)
			go func(i int64) { pass(i, make(chan int64, 1)); close(done) }(i)
			<-done
		}
	}
}

// Nearly half of their instructions are inside of what moves.
//
//go:noinline
func one(i int64) int64 { return two(i) + 1 }

//go:noinline
func two(i int64) int64 { return three(i) + 1 }

//go:noinline
func three(i int64) int64 { return four(i) + 1 }

//go:noinline
func four(i int64) int64 { return five(i) + 1 }

//go:noinline
func five(i int64) int64 { return six(i) + 1 }

//go:noinline
func six(i int64) int64 { return short(i, i, i+1) }

// More of them than processors: those that wait were preempted anywhere, and stay there until it is their turn.
func tight(first int64) {
	for i := first; !stopping.Load(); i++ {
		check(one(i) == i+5)
	}
}

func start(threads *sync.WaitGroup, most int64) {
	stopping.Store(false)
	for i := int64(0); i < 8; i++ {
		threads.Add(1)
		go func(i int64) { defer threads.Done(); work(i*1000, most) }(i)
	}
}

func main() {
	debug.SetGCPercent(5)
	var threads sync.WaitGroup
	if len(os.Args) > 1 {
		most, _ := strconv.Atoi(os.Args[1])
		var profile bytes.Buffer
		check(pprof.StartCPUProfile(&profile) == nil)
		start(&threads, int64(most))
		threads.Wait()
		pprof.StopCPUProfile()
		check(profile.Len() > 0)
		fmt.Printf("did %d %d %d %d\n", passes.Load(), wrong.Load(), entered.Load(), left.Load())
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "go" {
			start(&threads, 0)
			fmt.Println("going")
		} else if lines.Text() == "tight" {
			stopping.Store(false)
			for i := int64(0); i < 16; i++ {
				threads.Add(1)
				go func(i int64) { defer threads.Done(); tight(i * 1000) }(i)
			}
			fmt.Println("going")
		} else if lines.Text() == "counts" {
			fmt.Printf("counts %d %d\n", entered.Load(), left.Load())
		} else {
			stopping.Store(true)
			threads.Wait()
			fmt.Printf("quiet %d %d 0\n", passes.Load(), wrong.Load())
		}
	}
}
