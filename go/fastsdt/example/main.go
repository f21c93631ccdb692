// SPDX-License-Identifier: BSD-2-Clause

// Command example is a shop with two probes.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

//go:generate go run fastsdt/cmd/fastsdt-gen

//fastsdt:probe shop:order func Order(id int64, item string, cents int32)
//fastsdt:probe shop:basket func Basket(items string)

func main() {
	orders := 1000
	if len(os.Args) > 1 {
		orders, _ = strconv.Atoi(os.Args[1])
	}
	names := []string{"tea", "coffee", "cake"}
	for id := 0; id < orders; id++ {
		Order(int64(id), names[id%3], 250)
		if BasketActive() { // joining them costs more than a probe
			Basket(strings.Join(names[:1+id%3], "+"))
		}
	}
	fmt.Println(orders, "orders")
}
