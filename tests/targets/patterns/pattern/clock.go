// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"syscall"
	"unsafe"
)

const (
	clockMonotonic = 1
	clockThreadCPU = 3
)

func clock(id uintptr) int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// spinRounds take some 50 µs: seldom enough that reading the clock does not show in profiles.
const spinRounds = 30_000

//go:noinline
func spin(x uint64) uint64 {
	for range spinRounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// burn spends that much CPU time on this thread.
//
//go:noinline
func burn(milliseconds float64) int64 {
	begin := clock(clockThreadCPU)
	limit := int64(milliseconds * 1e6)
	x := uint64(begin) | 1
	for {
		x = spin(x)
		if spent := clock(clockThreadCPU) - begin; spent >= limit {
			return spent
		}
	}
}
