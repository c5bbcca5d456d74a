// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

const (
	stormPause  = 200 * time.Microsecond
	stormRounds = 500 // in a span
)

// stormer stands now in one place, now in another, never long: who reads its stack may find parts
// of both.
type stormer struct {
	deep, left, right chan int
	passed            int
}

//go:noinline
func (s *stormer) receives() {
	<-s.deep
	s.passed++
}

//go:noinline
func (s *stormer) deeper(n int) {
	if n == 0 {
		s.receives()
	} else {
		s.deeper(n - 1)
	}
	s.passed++
}

//go:noinline
func (s *stormer) receiving() {
	s.deeper(3)
	s.passed++
}

//go:noinline
func (s *stormer) selects() {
	select {
	case <-s.left:
	case <-s.right:
	}
	s.passed++
}

//go:noinline
func (s *stormer) selecting() {
	s.selects()
	s.passed++
}

//go:noinline
func (s *stormer) span(tracer trace.Tracer) {
	_, span := tracer.Start(context.Background(), "storm")
	defer span.End()
	for range stormRounds {
		s.receiving()
		s.selecting()
	}
}

// wake lets it go on, from one place to the other.
func (s *stormer) wake(end chan struct{}) {
	for to, next := s.deep, s.right; ; to, next = next, to {
		time.Sleep(stormPause)
		select {
		case to <- 1:
		case <-end:
			return
		}
	}
}

// storm has so many of them until the end.
func storm(ctx context.Context, tracer trace.Tracer, count int) {
	var all sync.WaitGroup
	for range count {
		s := &stormer{deep: make(chan int), left: make(chan int), right: make(chan int)}
		end := make(chan struct{})
		go s.wake(end)
		all.Go(func() {
			defer close(end)
			for ctx.Err() == nil {
				s.span(tracer)
			}
		})
	}
	all.Wait()
}
