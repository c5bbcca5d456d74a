// SPDX-License-Identifier: Apache-2.0

// Reads what tests/e2e/recorder wrote; see stack_capture.h there.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
)

type captureHead struct {
	TimeNs           uint64
	Tid, InKernel    uint32
	IP, SP, BP       uint64
	G, Curg          uint64
	CurgWords        [24]uint64
	VdsoSP, VdsoPC   uint64
	CurgStackAddress uint64
	StackBytes       uint32
	CurgStackBytes   uint32
}

// capture is one sample: its registers, and the memory of its stacks.
type capture struct {
	captureHead
	stack, curgStack []byte
}

// word reads the stacks; false where nothing was captured.
func (c *capture) word(address uint64) (uint64, bool) {
	for _, part := range []struct {
		start uint64
		bytes []byte
	}{{c.SP, c.stack}, {c.CurgStackAddress, c.curgStack}} {
		if at := address - part.start; address >= part.start && at+8 <= uint64(len(part.bytes)) {
			return binary.LittleEndian.Uint64(part.bytes[at:]), true
		}
	}
	return 0, false
}

func eachCapture(r io.Reader, f func(*capture)) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		var size uint64
		if err := binary.Read(in, binary.LittleEndian, &size); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(in, data); err != nil {
			return err
		}
		c := &capture{}
		if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, &c.captureHead); err != nil {
			return err
		}
		data = data[binary.Size(&c.captureHead):]
		c.stack, c.curgStack = data[:c.StackBytes], data[c.StackBytes:c.StackBytes+c.CurgStackBytes]
		f(c)
	}
}
