// SPDX-License-Identifier: BSD-2-Clause

// Command shop passes probes with arguments of each kind. It needs nothing but the runtime, so that it is built soon for other machines, too.
package main

import "unsafe"

//fastsdt:probe shop:all func all(a int8, b uint8, c int16, d uint16, e int32, f uint32, g int, h uint, i bool, j *list, k float64, l float32)
//fastsdt:probe shop:parts func parts(bytes []byte, small int8, text named, p unsafe.Pointer, r rune)
//fastsdt:probe shop:none func none()
//fastsdt:probe shop:never func never(n int)

type list struct{ next *list }
type named string

func unused() { never(1) }

func main() {
	var one list
	none()
	all(-1, 255, -2, 65535, -3, 4294967295, -4, 5, true, &one, 1.5, 2.5)
	parts([]byte("bytes"), -7, "named", unsafe.Pointer(&one), 'x')
	println("done", noneActive() || allActive())
}
