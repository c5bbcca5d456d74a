// SPDX-License-Identifier: Apache-2.0

// R4: goroutines older than the request, handed its context and no span of their own. Scanning the
// stack finds what the compiler keeps there: what is used again after the call.
package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"spanprof.test/patterns/pattern"
)

var (
	bareContext  = pattern.New(pattern.OnStack, "bare-context")
	bareWrapped  = pattern.New(pattern.OnStack, "bare-wrapped")
	bareFar      = pattern.New(pattern.OnStack, "bare-far")
	bareSpan     = pattern.New(pattern.OnStack, "bare-span")
	bareAfterOwn = pattern.New(pattern.OnStack, "bare-after-own")
	bareLastUse  = pattern.New(pattern.OnStack, "bare-last-use").Least(0)
	bareLimited  = pattern.New(pattern.OnStack, "bare-limited")
	bareInStruct = pattern.New(pattern.OnStack, "bare-in-struct").Least(0)
	bareIdle     = pattern.New(pattern.OnStack, "bare-idle")
	bareEnded    = pattern.New(pattern.OnStack, "bare-ended")
	timerPlain   = pattern.New(pattern.OnStack, "timer-plain")
	timerContext = pattern.New(pattern.OnStack, "timer-context")
	timerEnded   = pattern.New(pattern.OnStack, "timer-ended")
)

// job is what a worker is handed.
type job struct {
	ctx     context.Context
	perform func(ctx context.Context, kind *pattern.Kind, right trace.SpanContext) error
	kind    *pattern.Kind
	right   trace.SpanContext
	done    chan<- error
}

// sharedJobs goes to the pool that is as old as the program.
var sharedJobs = make(chan job)

func startJobs() {
	for range 4 {
		go serveJobs(sharedJobs)
	}
}

// serveJobs keeps nothing of a job when it is done.
func serveJobs(jobs <-chan job) {
	for {
		if !serveJob(jobs) {
			return
		}
	}
}

//go:noinline
func serveJob(jobs <-chan job) bool {
	j, more := <-jobs
	if !more {
		return false
	}
	j.done <- j.perform(j.ctx, j.kind, j.right)
	return true
}

func send(jobs chan<- job, j job) {
	done := make(chan error)
	j.done = done
	if j.perform == nil {
		j.perform = process
	}
	jobs <- j
	<-done
}

// process is the common case: the context is used again after the work.
//
//go:noinline
func process(ctx context.Context, kind *pattern.Kind, right trace.SpanContext) error {
	kind.Work(unit, right)
	return ctx.Err()
}

// processFar has two kilobytes of other frames between the context and the work.
//
//go:noinline
func processFar(ctx context.Context, kind *pattern.Kind, right trace.SpanContext) error {
	encode(kind, right)
	return ctx.Err()
}

//go:noinline
func encode(kind *pattern.Kind, right trace.SpanContext) byte {
	var buffer [2048]byte
	buffer[int(right.TraceFlags())] = 1
	kind.Work(unit, right)
	return buffer[right.SpanID()[0]]
}

// processSpan has been given the span alone.
//
//go:noinline
func processSpan(span trace.Span, kind *pattern.Kind, right trace.SpanContext) error {
	kind.Work(unit, right)
	span.AddEvent("processed")
	return nil
}

// processOwn goes on in the request's span when its own has ended.
//
//go:noinline
func processOwn(ctx context.Context, kind *pattern.Kind, right trace.SpanContext) error {
	_, own := tracer.Start(ctx, "part")
	own.End()
	kind.Work(unit, right)
	return ctx.Err()
}

// processLast has no more use for its context: where it stood may hold something else by now.
//
//go:noinline
func processLast(ctx context.Context, kind *pattern.Kind, right trace.SpanContext) error {
	err := ctx.Err()
	kind.Work(unit, right)
	return err
}

// processStruct has its context in something on the heap, and only that on the stack.
//
//go:noinline
func processStruct(j *job) error {
	j.kind.Work(unit, j.right)
	return j.ctx.Err()
}

// processLimited makes a context of its own from that one; the compiler may keep the two words of it
// in places that are not side by side.
//
//go:noinline
func processLimited(j *job) error {
	ctx, cancel := context.WithTimeout(j.ctx, time.Minute)
	j.kind.Work(unit, j.right)
	err := ctx.Err()
	cancel()
	return err
}

type tenantKey struct{}

func bareContexts() {
	ctx, request := tracer.Start(context.Background(), "request")
	right := request.SpanContext()
	wrapped, cancel := context.WithTimeout(context.WithValue(ctx, tenantKey{}, "a"), time.Minute)
	send(sharedJobs, job{ctx: ctx, kind: bareContext, right: right})
	send(sharedJobs, job{ctx: wrapped, kind: bareWrapped, right: right})
	send(sharedJobs, job{ctx: ctx, kind: bareFar, right: right, perform: processFar})
	send(sharedJobs, job{ctx: context.Background(), kind: bareSpan, right: right,
		perform: func(_ context.Context, kind *pattern.Kind, right trace.SpanContext) error {
			return processSpan(request, kind, right)
		}})
	send(sharedJobs, job{ctx: ctx, kind: bareAfterOwn, right: right, perform: processOwn})
	send(sharedJobs, job{ctx: ctx, kind: bareLastUse, right: right, perform: processLast})
	inside := &job{ctx: ctx, kind: bareInStruct, right: right}
	send(sharedJobs, job{ctx: context.Background(), perform: func(context.Context, *pattern.Kind,
		trace.SpanContext) error {
		return processStruct(inside)
	}})
	limited := &job{ctx: ctx, kind: bareLimited, right: right}
	send(sharedJobs, job{ctx: context.Background(), perform: func(context.Context, *pattern.Kind,
		trace.SpanContext) error {
		return processLimited(limited)
	}})
	cancel()
	request.End()
}

// bareOver's work begins after the request has ended, or is for none. Where the worker's stack
// still holds an old pointer, another span may lie by now.
func bareOver() {
	ctx, request := tracer.Start(context.Background(), "request")
	request.End()
	send(sharedJobs, job{ctx: ctx, kind: bareEnded})
	send(sharedJobs, job{ctx: context.Background(), kind: bareIdle})
}

// timers: their functions run on goroutines that the scheduler makes, so they inherit nothing.
func timers() {
	ctx, request := tracer.Start(context.Background(), "request")
	right := request.SpanContext()
	plain, used := make(chan error), make(chan error)
	time.AfterFunc(0, func() {
		timerPlain.Work(unit, pattern.None)
		plain <- nil
	})
	<-plain
	time.AfterFunc(0, func() { used <- process(ctx, timerContext, right) })
	<-used
	time.AfterFunc(0, func() {
		<-plain
		used <- process(ctx, timerEnded, pattern.None)
	})
	request.End()
	plain <- nil
	<-used
}
