// SPDX-License-Identifier: Apache-2.0

//go:build go1.21

package main

import "unsafe"

type unwinder struct {
	frame stkframe
	rest  [4096]byte // more than any version's has
}

//go:linkname unwinderInit runtime.(*unwinder).init
func unwinderInit(u *unwinder, g unsafe.Pointer, flags uint8)

//go:linkname unwinderNext runtime.(*unwinder).next
func unwinderNext(u *unwinder)

// unwind copies the frames of a parked goroutine, innermost first.
func unwind(g unsafe.Pointer) (frames []stkframe) {
	u := new(unwinder)
	for unwinderInit(u, g, 0); u.frame.pc != 0; unwinderNext(u) {
		frames = append(frames, u.frame)
	}
	return frames
}
