// SPDX-License-Identifier: Apache-2.0

// R2: the span that was current for the creator of the goroutine, as long as it is open.
package main

import (
	"context"

	"golang.org/x/sync/errgroup"
	"spanprof.test/patterns/pattern"
)

var (
	errgroupChild    = pattern.New(pattern.Inherited, "errgroup")
	errgroupOwn      = pattern.New(pattern.Own, "errgroup-own")
	contextAfterFunc = pattern.New(pattern.Inherited, "context-afterfunc")
	poolOwnRequest   = pattern.New(pattern.Inherited, "pool-own-request")
	poolOtherRequest = pattern.New(pattern.Inherited, "pool-other-request")
	poolLateIdle     = pattern.New(pattern.Inherited, "pool-late-idle")
	poolLateTask     = pattern.New(pattern.OnStack, "pool-late-task")
)

func group() {
	ctx, request := tracer.Start(context.Background(), "request")
	parent := request.SpanContext()
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.Go(func() error {
		errgroupChild.Work(unit, parent)
		return nil
	})
	tasks.Go(func() error {
		_, part := tracer.Start(ctx, "part")
		defer part.End()
		errgroupOwn.Work(unit, part.SpanContext())
		return nil
	})
	_ = tasks.Wait()
	request.End()
}

// afterCancel registers a function outside any span. The goroutine that cancels is its creator.
func afterCancel() {
	watched, cancel := context.WithCancel(context.Background())
	_, request := tracer.Start(context.Background(), "request")
	canceller := request.SpanContext()
	finished := make(chan struct{})
	context.AfterFunc(watched, func() {
		defer close(finished)
		contextAfterFunc.Work(unit, canceller)
	})
	cancel()
	<-finished
	request.End()
}

// requestPool makes a pool inside a request; it outlives the request and serves others.
func requestPool() {
	jobs := make(chan job)
	stranger := make(chan struct{})
	go func() { // older than the request, so that it inherits nothing
		<-stranger
		request(jobs, poolLateTask)
		close(stranger)
	}()
	ctx, first := tracer.Start(context.Background(), "first request")
	creator := first.SpanContext()
	workers := make(chan struct{})
	go func() {
		defer close(workers)
		serveJobs(jobs)
	}()
	send(jobs, job{ctx: ctx, kind: poolOwnRequest, right: creator})
	do(func() {
		ctx, other := tracer.Start(context.Background(), "other request")
		send(jobs, job{ctx: ctx, kind: poolOtherRequest, right: creator})
		other.End()
	})
	first.End()
	send(jobs, job{ctx: context.Background(), kind: poolLateIdle})
	stranger <- struct{}{}
	<-stranger
	close(jobs)
	<-workers
}

// request has one job done for it.
func request(jobs chan<- job, kind *pattern.Kind) {
	ctx, span := tracer.Start(context.Background(), "request")
	send(jobs, job{ctx: ctx, kind: kind, right: span.SpanContext()})
	span.End()
}
