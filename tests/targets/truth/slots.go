// SPDX-License-Identifier: Apache-2.0

// Truth records: which thread worked when, for which span, and how much CPU time that took.
package main

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"go.opentelemetry.io/otel/trace"
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

// slotRecord is one stretch of work of one kind on one thread, for one span or none.
type slotRecord struct {
	begin, end, cpu int64
	trace           trace.TraceID
	span            trace.SpanID
	tid             int32
	kind            kind
}

// spanRecord is a span the program issued. Its Start and End lie between the two times of each.
type spanRecord struct {
	startBegin, startEnd, endBegin, endEnd int64
	trace                                  trace.TraceID
	span                                   trace.SpanID
	tid                                    int32 // of the thread that started it
}

// counter is for many goroutines; atomic.Int64 is newer than Go 1.18.
type counter struct{ value int64 }

// next counts and gives the number before.
func (c *counter) next() int64 { return atomic.AddInt64(&c.value, 1) - 1 }

func (c *counter) load() int64 { return atomic.LoadInt64(&c.value) }

// mark is set once, for many goroutines.
type mark struct{ value int32 }

// set tells whether this call was the first.
func (m *mark) set() bool { return atomic.SwapInt32(&m.value, 1) == 0 }

func (m *mark) isSet() bool { return atomic.LoadInt32(&m.value) != 0 }

// Records live in tables of a size set at start: nothing grows while samples are taken. What does
// not fit is counted, and makes the run fail.
var (
	slots     []slotRecord
	slotCount counter
	spans     []spanRecord
	spanCount counter
	dropped   counter

	callers     [kindCount][]frame // above slot(), seen by the program itself
	callersSeen [kindCount]mark

	stepsPerMillisecond [kindCount]float64
)

// slotCall is the line in slot() that calls the work.
var slotCall int64

// slot does `milliseconds` of CPU work of kind k on this thread (the caller holds it by
// LockOSThread), for the span of sc, which is the zero value for work outside any span.
//
//go:noinline
func slot(k kind, sc trace.SpanContext, milliseconds float64) {
	if callersSeen[k].set() {
		callers[k] = callersOf(2)
	}
	index := slotCount.next()
	if index >= int64(len(slots)) {
		dropped.next()
		return
	}
	record := &slots[index]
	*record = slotRecord{trace: sc.TraceID(), span: sc.SpanID(), kind: k,
		tid: int32(syscall.Gettid())}
	work, steps := kinds[k].work, uint64(milliseconds*stepsPerMillisecond[k])
	if atomic.LoadInt64(&slotCall) == 0 {
		_, _, line, _ := runtime.Caller(0)
		atomic.StoreInt64(&slotCall, int64(line)+5)
	}
	record.begin = clock(clockMonotonic)
	cpu := clock(clockThreadCPU)
	work(steps)
	record.cpu = clock(clockThreadCPU) - cpu
	record.end = clock(clockMonotonic)
}

// callersOf lists the calling frames as the runtime itself names them, without runtime.goexit.
func callersOf(skip int) []frame {
	pcs := make([]uintptr, 64)
	iterator := runtime.CallersFrames(pcs[:runtime.Callers(skip+1, pcs)])
	var frames []frame
	for {
		f, more := iterator.Next()
		if f.Function != "" && f.Function != "runtime.goexit" {
			frames = append(frames, frame{f.Function, f.File, f.Line, f.Line, f.Line})
		}
		if !more {
			return frames
		}
	}
}

// calibrate finds how many steps of each kind's loop make a millisecond of CPU time.
func calibrate() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rate := func(f func(uint64) uint64) float64 {
		for steps := uint64(1000); ; steps *= 2 {
			begin := clock(clockThreadCPU)
			f(steps)
			if took := clock(clockThreadCPU) - begin; took > 20e6 {
				return float64(steps) * 1e6 / float64(took)
			}
		}
	}
	spinRate, leafRate, inlineRate := rate(spin), rate(leafLoop), rate(inlineLoop)
	for k := range stepsPerMillisecond {
		stepsPerMillisecond[k] = spinRate
	}
	stepsPerMillisecond[leaf] = leafRate
	stepsPerMillisecond[inline] = inlineRate
}
