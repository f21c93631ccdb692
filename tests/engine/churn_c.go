// SPDX-License-Identifier: BSD-2-Clause
//
// C code in churn.go, built with it.
package main

// #include <unistd.h>
// static long same(long a) { volatile char all[100]; for (int i = 0; i < 100; i++) all[i] = (char)a; return all[3] == (char)a ? a : -1; }
// static void rest(void) { usleep(20); }
import "C"

func init() {
	extra = func(i int64) {
		check(int64(C.same(C.long(i))) == i)
		if i%32 == 0 {
			C.rest()
		}
	}
}
