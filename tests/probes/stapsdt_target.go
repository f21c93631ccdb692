// Hits its probes as tracers.py has it, through libstapsdt as the wrapper salp does: cgo, functions in front of those that take any number of
// arguments, and a look at the byte that _fire leads to instead of a call.
package main

/*
#cgo LDFLAGS: -lstapsdt
#include <stdint.h>
#include <stdlib.h>
#include <libstapsdt.h>

static SDTProbe_t* add(SDTProvider_t* provider, const char* name, int count, ArgType_t* t) {
	return providerAddProbe(provider, name, count, t[0], t[1], t[2], t[3], t[4], t[5]);
}
static void fire(SDTProbe_t* probe, void** v) {
	probeFire(probe, v[0], v[1], v[2], v[3], v[4], v[5]);
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"unsafe"
)

func enabled(probe *C.SDTProbe_t) bool {
	at := atomic.LoadPointer(&probe._fire)
	return at != nil && *(*uint8)(at)&0x90 != 0x90
}

func add(provider *C.SDTProvider_t, name string, types ...C.ArgType_t) *C.SDTProbe_t {
	var all [6]C.ArgType_t
	copy(all[:], types)
	return C.add(provider, C.CString(name), C.int(len(types)), &all[0])
}

func fire(probe *C.SDTProbe_t, values ...uintptr) {
	if !enabled(probe) {
		return
	}
	memory := (*[6]uintptr)(C.malloc(48))
	copy(memory[:], values)
	C.fire(probe, (*unsafe.Pointer)(unsafe.Pointer(memory)))
	C.free(unsafe.Pointer(memory))
}

func text(text string) uintptr { return uintptr(unsafe.Pointer(C.CString(text))) }

func main() {
	shop := C.providerInit(C.CString("shop"))
	order := add(shop, "order", C.int64, C.uint64, C.uint64, C.uint8)
	named := add(shop, "named", C.int64, C.uint64)
	twelve := add(shop, "twelve", C.int64, C.int64, C.int64, C.int64, C.int64, C.int64)
	if C.providerLoad(shop) != 0 {
		fmt.Println(C.GoString(shop.error))
		os.Exit(1)
	}
	items := map[bool]uintptr{true: text("coffee"), false: text("tea")}
	truth := map[bool]uintptr{true: 1}
	milk := text("milk")
	fmt.Println(os.Getpid())
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		hits, err := strconv.Atoi(input.Text())
		if err != nil {
			fmt.Println(map[bool]string{true: "True", false: "False"}[enabled(order) && enabled(named) && enabled(twelve)])
			continue
		}
		for i := 0; i < hits; i++ {
			fire(order, uintptr(i), items[i%3 == 0], uintptr(math.Float64bits(float64(i)/2)), truth[i%2 == 0])
			fire(named, uintptr(-i), milk)
			n := uintptr(i)
			fire(twelve, n, n+1, n+2, n+3, n+4, n+5)
		}
		fmt.Println("did")
	}
	C.providerUnload(shop)
	C.providerDestroy(shop)
}
