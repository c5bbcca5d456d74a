// SPDX-License-Identifier: Apache-2.0

// R3: spans that were open before the profiler came.
package main

import (
	"context"
	"sync"

	"spanprof.test/patterns/pattern"
)

var (
	olderInner    = pattern.New(pattern.Older, "older-inner")
	olderChild    = pattern.New(pattern.Inherited, "older-child").Least(0.9)
	olderOwn      = pattern.New(pattern.Own, "older-own")
	olderAfterOwn = pattern.New(pattern.Older, "older-after-own")
	olderOuter    = pattern.New(pattern.Older, "older-outer")
	olderEnded    = pattern.New(pattern.Older, "older-ended")
)

const (
	olderGoroutines = 4
	olderRounds     = 15 // of each kind and goroutine
)

// openOlder opens the spans; what it returns does the work.
func openOlder() func() {
	var opened, finished sync.WaitGroup
	start := make(chan struct{})
	for range olderGoroutines {
		opened.Add(1)
		finished.Go(func() { older(&opened, start) })
	}
	opened.Wait()
	return func() {
		close(start)
		finished.Wait()
	}
}

// older waits in a request with a query under way.
func older(opened *sync.WaitGroup, start <-chan struct{}) {
	ctx, request := tracer.Start(context.Background(), "request")
	olderQuery(ctx, opened, start)
	outer := request.SpanContext()
	for range olderRounds {
		olderOuter.Work(unit, outer)
	}
	request.End()
	for range olderRounds {
		olderEnded.Work(unit, pattern.None)
	}
}

//go:noinline
func olderQuery(ctx context.Context, opened *sync.WaitGroup, start <-chan struct{}) {
	ctx, query := tracer.Start(ctx, "query")
	inner := query.SpanContext()
	opened.Done()
	<-start
	for range olderRounds {
		olderInner.Work(unit, inner)
		do(func() { olderChild.Work(unit, inner) })
		_, row := tracer.Start(ctx, "row")
		olderOwn.Work(unit, row.SpanContext())
		row.End()
		olderAfterOwn.Work(unit, inner)
	}
	query.End()
}
