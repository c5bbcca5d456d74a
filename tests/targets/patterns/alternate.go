// SPDX-License-Identifier: Apache-2.0

// Two requests of one handler take turns on one thread, with exactly one and the same stack: only
// the spans tell them apart, and the program's own clock says how much CPU time each had.
package main

import (
	"context"
	"runtime"
	"sync"

	"spanprof.test/patterns/pattern"
)

var (
	alternateYield   = pattern.New(pattern.Own, "alternate-yield")
	alternateChannel = pattern.New(pattern.Own, "alternate-channel")
)

// One request works twice as long at a turn as the other, so a swap of the two would show.
const (
	alternateTurns = 600
	alternateShort = 0.7
	alternateLong  = 1.4
)

func alternate() {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	var finished sync.WaitGroup
	for _, length := range []float64{alternateShort, alternateLong} {
		finished.Go(func() { handleTurns(alternateYield, length, func() {}, runtime.Gosched) })
	}
	finished.Wait()

	baton := [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	for i, length := range []float64{alternateShort, alternateLong} {
		take, pass := func() { <-baton[i] }, func() { baton[1-i] <- struct{}{} }
		finished.Go(func() { handleTurns(alternateChannel, length, take, pass) })
	}
	baton[0] <- struct{}{}
	finished.Wait()
}

//go:noinline
func handleTurns(kind *pattern.Kind, length float64, before, after func()) {
	_, span := tracer.Start(context.Background(), "turns")
	right := span.SpanContext()
	for range alternateTurns {
		before()
		kind.Work(length, right)
		after()
	}
	span.End()
}
