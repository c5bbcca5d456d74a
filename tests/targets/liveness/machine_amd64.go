// SPDX-License-Identifier: Apache-2.0

package main

import "encoding/binary"

const (
	pushedBytes   = 8 // by a call
	minFrameBytes = 0
	callBytes     = 5 // of the longest call that is looked for
)

// isCall tells whether code ends like a call; where it does not, the truth is one all the same.
func isCall(code []byte, low, high uintptr) bool {
	last := code[len(code)-callBytes:]
	if last[0] == 0xe8 {
		offset := int32(binary.LittleEndian.Uint32(last[1:]))
		target := low + uintptr(len(code)) + uintptr(offset)
		return target >= low && target < high
	}
	return last[3] == 0xff && last[4]&0xf8 == 0xd0 || // a register
		last[3] == 0xff && last[4]&0xf8 == 0x10 || // what it points to
		last[2] == 0xff && last[3]&0xf8 == 0x50 && last[4] < 0x80 // and a little behind it
}

func isPadding(code []byte) bool { return code[0] == 0xcc }
