// SPDX-License-Identifier: Apache-2.0

// R1: the span that the goroutine started last and that is still open.
package main

import (
	"context"
	"runtime"

	"go.opentelemetry.io/otel/trace"
	"spanprof.test/patterns/pattern"
)

var (
	helperOwn          = pattern.New(pattern.Own, "helper")
	nested12           = pattern.New(pattern.Own, "nested-12")
	nested12Unwound    = pattern.New(pattern.Own, "nested-12-unwound")
	nested20           = pattern.New(pattern.Own, "nested-20")
	nested20Sixteenth  = pattern.New(pattern.Own, "nested-20-sixteenth")
	nested20Beyond     = pattern.New(pattern.Own, "nested-20-beyond").Least(0)
	handedParent       = pattern.New(pattern.Own, "handed-parent")
	handedParentAfter  = pattern.New(pattern.Own, "handed-parent-after")
	handedChild        = pattern.New(pattern.Inherited, "handed-child")
	handedChildAfter   = pattern.New(pattern.Inherited, "handed-child-after")
	batchFirst         = pattern.New(pattern.Own, "batch-first")
	batchLast          = pattern.New(pattern.Own, "batch-last")
	leaked             = pattern.New(pattern.Own, "leaked")
	afterLeak          = pattern.New(pattern.Own, "after-leak")
	renamedBefore      = pattern.New(pattern.Own, "renamed-before")
	renamedAfter       = pattern.New(pattern.Own, "renamed-after")
	providerSecond     = pattern.New(pattern.Own, "provider-second")
	providerFirstAgain = pattern.New(pattern.Own, "provider-first-again")
)

// startOrder is the usual helper: it starts a span and returns it.
//
//go:noinline
func startOrder(ctx context.Context) (context.Context, trace.Span) {
	return tracer.Start(ctx, "order", trace.WithSpanKind(trace.SpanKindInternal))
}

func helper() {
	_, span := startOrder(context.Background())
	helperOwn.Work(unit, span.SpanContext())
	span.End()
}

// nest starts spans inside each other.
func nest(depth int) []trace.Span {
	ctx := context.Background()
	spans := make([]trace.Span, depth)
	for i := range spans {
		ctx, spans[i] = tracer.Start(ctx, "level")
	}
	return spans
}

// unwind ends all but the outermost `left` spans and returns these.
func unwind(spans []trace.Span, left int) []trace.Span {
	for len(spans) > left {
		spans[len(spans)-1].End()
		spans = spans[:len(spans)-1]
	}
	return spans
}

func deep() {
	spans := nest(12)
	nested12.Work(unit, spans[11].SpanContext())
	spans = unwind(spans, 6)
	nested12Unwound.Work(unit, spans[5].SpanContext())
	unwind(spans, 0)
}

// tooDeep nests deeper than the 16 spans that are remembered: of the outermost four no tag may
// come, or that of any of them, which are all open and of one trace.
func tooDeep() {
	spans := nest(20)
	nested20.Work(unit, spans[19].SpanContext())
	spans = unwind(spans, 5)
	nested20Sixteenth.Work(unit, spans[4].SpanContext())
	spans = unwind(spans, 4)
	nested20Beyond.Work(unit, spans[3].SpanContext(), spans[2].SpanContext(),
		spans[1].SpanContext(), spans[0].SpanContext(), pattern.None)
	unwind(spans, 0)
}

// handOver starts a span for another goroutine, which ends it: until then it is the parent's too.
func handOver() {
	ctx, request := tracer.Start(context.Background(), "request")
	_, job := tracer.Start(ctx, "background job")
	outer, inner := request.SpanContext(), job.SpanContext()
	goOn, ended, finished := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		handedChild.Work(unit, inner)
		<-goOn
		job.End()
		close(ended)
		handedChildAfter.Work(unit, pattern.None)
	}()
	handedParent.Work(unit, inner)
	close(goOn)
	<-ended
	handedParentAfter.Work(unit, outer)
	<-finished
	request.End()
}

// batch is a consumer that starts a span for each message of a batch before it processes the first:
// the message that was started last gets the work for all.
func batch() {
	var messages [5]trace.Span
	for i := range messages {
		_, messages[i] = tracer.Start(context.Background(), "message")
	}
	last := messages[4].SpanContext()
	batchFirst.Work(unit, last)
	for _, message := range messages[:4] {
		message.End()
	}
	batchLast.Work(unit, last)
	messages[4].End()
}

// leak never ends a span; the next goroutine is likely to get the runtime's same g.
func leak() {
	do(func() {
		_, span := tracer.Start(context.Background(), "forgotten")
		leaked.Work(unit, span.SpanContext())
		runtime.KeepAlive(span) // else the collector may give its memory to another object
	})
	do(func() { afterLeak.Work(unit, pattern.None) })
}

// do runs f on a goroutine of its own.
func do(f func()) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		f()
	}()
	<-finished
}

// rename is what HTTP servers do once the route is known.
func rename() {
	_, span := tracer.Start(context.Background(), "POST")
	renamedBefore.Work(unit, span.SpanContext())
	span.SetName("POST /orders/{id}")
	renamedAfter.Work(unit, span.SpanContext())
	span.End()
}

func providers() {
	ctx, request := tracer.Start(context.Background(), "request")
	_, query := libraryTracer.Start(ctx, "query")
	providerSecond.Work(unit, query.SpanContext())
	query.End()
	providerFirstAgain.Work(unit, request.SpanContext())
	request.End()
}
