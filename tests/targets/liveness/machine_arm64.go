// SPDX-License-Identifier: Apache-2.0

package main

import "encoding/binary"

const (
	pushedBytes   = 0
	minFrameBytes = 8
	callBytes     = 4
)

func isCall(code []byte, low, high uintptr) bool {
	last := binary.LittleEndian.Uint32(code[len(code)-callBytes:])
	return len(code)%4 == 0 && (last>>26 == 0x25 || last&0xfffffc1f == 0xd63f0000)
}

// isPadding: zeros, of which any one may be asked for.
func isPadding(code []byte) bool { return binary.LittleEndian.Uint32(code) == 0 }
