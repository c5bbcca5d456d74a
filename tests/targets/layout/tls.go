// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"unsafe"
)

// getg is the running goroutine as assembly knows it.
func getg() uintptr

// checkTLS compares the word at the thread pointer + offset with the running goroutine.
func checkTLS(offset int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	base, err := threadPointer()
	if err != nil {
		return err
	}
	if word := *(*uintptr)(unsafe.Add(base, offset)); word != getg() {
		return fmt.Errorf("offset %d: %#x, but g is %#x", offset, word, getg())
	}
	return nil
}

// checkAll looks for the running goroutine and for as many as there are in a slice at an address.
func checkAll(address uintptr) error {
	all := **(**[]uintptr)(unsafe.Pointer(&address))
	if len(all) < runtime.NumGoroutine() || len(all) > cap(all) {
		return fmt.Errorf("%#x: length %d, capacity %d, but %d goroutines run", address,
			len(all), cap(all), runtime.NumGoroutine())
	}
	for _, g := range all {
		if g == getg() {
			return nil
		}
	}
	return fmt.Errorf("%#x: this goroutine is not in it", address)
}
