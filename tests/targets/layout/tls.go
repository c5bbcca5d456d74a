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
