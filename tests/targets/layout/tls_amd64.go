// SPDX-License-Identifier: Apache-2.0

package main

import (
	"syscall"
	"unsafe"
)

const archGetFS = 0x1003

func threadPointer() (unsafe.Pointer, error) {
	var base unsafe.Pointer
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, archGetFS,
		uintptr(unsafe.Pointer(&base)), 0)
	if errno != 0 {
		return nil, errno
	}
	return base, nil
}
