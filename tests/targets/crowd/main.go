// SPDX-License-Identifier: Apache-2.0

// crowd: many goroutines that wait, some with an open span, beside requests whose time is taken.
//
// Once a second it prints how long the requests of that second took, from when each was due.
//
//	crowd [-spans N] [-idle N] [-churn N] [-rate N] [-seconds N]
package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// requestWork is what a request has to do.
const requestWork = 100 * time.Microsecond

var sink uint64

//go:noinline
func work(d time.Duration) {
	until := time.Now().Add(d)
	for x := uint64(1); time.Now().Before(until); {
		for range 500 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		sink = x
	}
}

//go:noinline
func waitInSpan(end chan struct{}) { <-end }

//go:noinline
func waitOutside(end chan struct{}) { <-end }

// gather starts the crowd, and returns when all of it waits; those with spans end them at `end`.
func gather(tracer trace.Tracer, spans, idle int, end chan struct{}) *sync.WaitGroup {
	var all, begun sync.WaitGroup
	begun.Add(spans + idle)
	for range spans {
		all.Go(func() {
			_, span := tracer.Start(context.Background(), "crowd")
			defer span.End()
			begun.Done()
			waitInSpan(end)
		})
	}
	for range idle {
		all.Go(func() {
			begun.Done()
			waitOutside(end)
		})
	}
	begun.Wait()
	return &all
}

//go:noinline
func waitForShort(done chan struct{}) { <-done }

// churn waits for goroutines that live for a millisecond, one after the other.
func churn(end chan struct{}) {
	for {
		select {
		case <-end:
			return
		default:
		}
		done := make(chan struct{})
		go func() {
			time.Sleep(time.Millisecond)
			close(done)
		}()
		waitForShort(done)
	}
}

// request is served by two goroutines, one after the other, within a span.
func request(tracer trace.Tracer) {
	_, span := tracer.Start(context.Background(), "request")
	defer span.End()
	work(requestWork / 2)
	answer := make(chan struct{})
	go func() {
		work(requestWork / 2)
		close(answer)
	}()
	<-answer
}

// serve sends requests at a steady rate for a second, however long they take.
func serve(tracer trace.Tracer, rate int) []time.Duration {
	var all sync.WaitGroup
	took := make([]time.Duration, rate)
	began := time.Now()
	for i := range took {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		all.Go(func() {
			request(tracer)
			took[i] = time.Since(due)
		})
	}
	all.Wait()
	slices.Sort(took)
	return took
}

func main() {
	spans := flag.Int("spans", 10000, "goroutines that wait in a span of their own")
	idle := flag.Int("idle", 0, "goroutines that wait without one")
	churning := flag.Int("churn", 0, "goroutines that wait for others that come and go")
	rate := flag.Int("rate", 1000, "requests a second")
	seconds := flag.Int("seconds", 30, "how long")
	flag.Parse()
	tracer := sdktrace.NewTracerProvider().Tracer("crowd")
	end := make(chan struct{})
	crowd := gather(tracer, *spans, *idle, end)
	for range *churning {
		go churn(end)
	}
	fmt.Println("ready")
	for range *seconds {
		took := serve(tracer, max(1, *rate))
		fmt.Printf("p50_us=%.1f p99_us=%.1f\n", microseconds(took, 50), microseconds(took, 99))
	}
	close(end)
	crowd.Wait()
}

func microseconds(sorted []time.Duration, percent int) float64 {
	return float64(sorted[len(sorted)*percent/100]) / 1e3
}
