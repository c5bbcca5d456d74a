// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#include <stdint.h>
extern uint64_t goBack(uint64_t n);

static uint64_t in_c(uint64_t n)
{
	volatile uint64_t x = 1;
	for (uint64_t i = 0; i < n; i++)
		x = x * 6364136223846793005u + i;
	return x;
}

static uint64_t there_and_back(uint64_t n) { return goBack(n) + in_c(n); }
*/
import "C"

var cModes = []mode{{"cgo", callC}, {"callbacks", callBack}}

func callC() {
	for running() {
		for i := 0; i < 100; i++ {
			sink += uint64(C.in_c(300))
		}
	}
}

//export goBack
func goBack(n C.uint64_t) C.uint64_t { return C.uint64_t(spin(uint64(n))) }

func callBack() {
	for running() {
		for i := 0; i < 100; i++ {
			sink += uint64(C.there_and_back(3000))
		}
	}
}
