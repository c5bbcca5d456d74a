// SPDX-License-Identifier: Apache-2.0

// unwind_program is never run: test_unwind lays out stacks of its functions by hand.
package main

import "os"

//go:noinline
func leaf(x int) int { // needs no frame
	return x*3 + 1
}

//go:noinline
func middle(x int) int {
	var a [24]int
	for i := range a {
		a[i] = x + i
	}
	return leaf(a[x&15]) + leaf(a[0])
}

//go:noinline
func outer(x int) int {
	return middle(x) + 1
}

func main() {
	os.Exit(outer(len(os.Args)) & 1)
}
