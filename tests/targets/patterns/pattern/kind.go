// SPDX-License-Identifier: Apache-2.0

// Package pattern is what the programs of this test share: kinds of work with the span that must be
// the tag of their samples, the records of what was done, and the harness that runs it all.
package pattern

import (
	"runtime"
	"sync/atomic"
	"syscall"

	"go.opentelemetry.io/otel/trace"
)

// Rule is the rule of src/spans/README.md that a kind holds spanprof to.
type Rule string

const (
	Own       Rule = "R1"
	Inherited Rule = "R2"
	Older     Rule = "R3"
	OnStack   Rule = "R4"
	Labels    Rule = "R5"
	Unsampled Rule = "R6"
)

// least is the share of a kind's samples that must carry a right tag.
func (r Rule) least() float64 {
	if r == Older || r == OnStack {
		return 0.9
	}
	return 0.999
}

// Kind is one way in which a goroutine comes to its span.
type Kind struct {
	name  string
	rule  Rule
	least float64
	index int
	cpu   atomic.Int64
}

var kinds []*Kind

// New makes a kind known; only called while packages are initialised.
func New(rule Rule, name string) *Kind {
	k := &Kind{name: name, rule: rule, least: rule.least(), index: len(kinds)}
	kinds = append(kinds, k)
	return k
}

// Least sets another least share; 0 when nothing but a wrong tag is a fault.
func (k *Kind) Least(share float64) *Kind {
	k.least = share
	return k
}

// None is the tag of work for no span.
var None trace.SpanContext

// rightMax is how many tags may be right for one stretch of work.
const rightMax = 6

// identity is a span as samples name it. With an ID but no trace, any trace is right.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

// slot is one stretch of work on one thread.
type slot struct {
	begin, end, cpu int64
	tid             int32
	kind            *Kind
	right           [rightMax]identity
	rights          int
}

var (
	slots     []slot
	slotCount atomic.Int64
	dropped   atomic.Int64 // records that did not fit: the run fails
)

// Work spends CPU time on a thread that it keeps meanwhile. The tag of the samples must be one of
// those given.
//
//go:noinline
func (k *Kind) Work(milliseconds float64, right ...trace.SpanContext) {
	index := slotCount.Add(1) - 1
	if index >= int64(len(slots)) {
		dropped.Add(1)
		return
	}
	record := &slots[index]
	record.kind, record.rights = k, min(len(right), rightMax)
	for i := range record.rights {
		record.right[i] = identity{right[i].TraceID(), right[i].SpanID()}
	}
	runtime.LockOSThread()
	record.tid = int32(syscall.Gettid())
	record.begin = clock(clockMonotonic)
	record.cpu = burn(milliseconds)
	record.end = clock(clockMonotonic)
	runtime.UnlockOSThread()
	k.cpu.Add(record.cpu)
}
