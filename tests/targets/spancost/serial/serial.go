// SPDX-License-Identifier: Apache-2.0

// Package serial makes span IDs of which everybody can tell whose they are, without a list of them.
package serial

import (
	"encoding/binary"

	"go.opentelemetry.io/otel/trace"
)

// Serial says which span it is: of a worker's so many-th request, child 0 being the request itself.
type Serial struct {
	Worker  uint16 // 1 and more: no ID is all zeros
	Request uint32
	Child   uint16
}

// Multiplied by an odd number IDs look like any others: their low bits are as good as their high
// ones. Its inverse makes them what they were.
const (
	factor = 0x9e3779b97f4a7c15
	again  = 0xf1de83e19937733d
	tail   = "spancost"
)

func (s Serial) number() uint64 {
	return uint64(s.Worker)<<48 | uint64(s.Request)<<16 | uint64(s.Child)
}

// SpanID is the span's own.
func (s Serial) SpanID() trace.SpanID {
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], s.number()*factor)
	return id
}

// TraceID is that of the request and of its children.
func (s Serial) TraceID() trace.TraceID {
	var id trace.TraceID
	root := Serial{Worker: s.Worker, Request: s.Request}.SpanID()
	copy(id[:], root[:])
	copy(id[len(root):], tail)
	return id
}

// Of gives what an ID stands for. Any ID stands for something: see whether TraceID agrees.
func Of(id trace.SpanID) Serial {
	number := binary.BigEndian.Uint64(id[:]) * again
	return Serial{uint16(number >> 48), uint32(number >> 16), uint16(number)}
}
