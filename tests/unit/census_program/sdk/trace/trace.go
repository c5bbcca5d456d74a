// SPDX-License-Identifier: Apache-2.0

// Package trace has as much of the OpenTelemetry SDK as can be seen from outside: its spans in
// memory, and the contexts that lead to them.
package trace

import (
	"context"
	"encoding/hex"
	"sync"
	"time"
)

type TraceID [16]byte

type SpanID [8]byte

type SpanContext struct {
	traceID    TraceID
	spanID     SpanID
	traceFlags byte
	traceState []string
	remote     bool
}

type Status struct {
	Code        uint32
	Description string
}

// Span is recorded or sampled out.
type Span interface {
	End()
	ID() string
}

type recordingSpan struct {
	embedded    Span
	mu          sync.Mutex
	parent      SpanContext
	spanKind    int
	name        string
	startTime   time.Time
	endTime     time.Time
	status      Status
	spanContext SpanContext
	attributes  []string
}

type nonRecordingSpan struct {
	embedded Span
	sc       SpanContext
}

type contextKey int

const currentSpan contextKey = 1

var (
	counting sync.Mutex
	count    byte
)

func nextID(trace TraceID) SpanContext {
	counting.Lock()
	defer counting.Unlock()
	count++
	return SpanContext{traceID: trace, spanID: SpanID{0: count, 7: 0xee}, traceFlags: 1}
}

// Start begins a span within that of the context, or a new trace.
func Start(ctx context.Context, name string) (context.Context, Span) {
	trace, parent := TraceID{0: 0xab, 15: 0xcd}, SpanContext{}
	if outer, ok := ctx.Value(currentSpan).(*recordingSpan); ok {
		trace, parent = outer.spanContext.traceID, outer.spanContext
	}
	s := &recordingSpan{name: name, parent: parent, spanKind: 2, startTime: time.Now()}
	s.spanContext = nextID(trace)
	return context.WithValue(ctx, currentSpan, Span(s)), s
}

// StartUnsampled begins one that is sampled out.
func StartUnsampled(ctx context.Context) (context.Context, Span) {
	s := nonRecordingSpan{sc: nextID(TraceID{0: 0xef})}
	return context.WithValue(ctx, currentSpan, Span(s)), s
}

func (s *recordingSpan) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTime = s.startTime.Add(time.Since(s.startTime))
}

func (s *recordingSpan) ID() string {
	return hex.EncodeToString(s.spanContext.spanID[:])
}

func (s nonRecordingSpan) End() {}

func (s nonRecordingSpan) ID() string {
	return hex.EncodeToString(s.sc.spanID[:])
}
