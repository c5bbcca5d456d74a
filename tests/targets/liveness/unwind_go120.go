// SPDX-License-Identifier: Apache-2.0

//go:build !go1.21

package main

import "unsafe"

//go:linkname gentraceback runtime.gentraceback
func gentraceback(pc, sp, lr uintptr, g unsafe.Pointer, skip int, pcs *uintptr, max int,
	callback func(*stkframe, unsafe.Pointer) bool, context unsafe.Pointer, flags uint) int

// unwind copies the frames of a parked goroutine, innermost first.
func unwind(g unsafe.Pointer) (frames []stkframe) {
	const own = ^uintptr(0)
	gentraceback(own, own, own, g, 0, nil, 1<<20, func(f *stkframe, _ unsafe.Pointer) bool {
		frames = append(frames, *f)
		return true
	}, nil, 0)
	return frames
}
