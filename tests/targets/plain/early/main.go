// SPDX-License-Identifier: Apache-2.0

// early: a program that is over before a profiler that comes later has seen it. It burns CPU in its
// init function, then in the first span of its life, and ends; it tells how much CPU that was.
package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"spanprof.test/plain/burn"
)

const each = 150 * time.Millisecond

func init() {
	burnInInit(each)
}

// used is the CPU time of this process.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func burnInInit(amount time.Duration) {
	for until := used() + amount; used() < until; {
		burn.Words(1000)
	}
}

func burnInSpan(amount time.Duration) {
	for until := used() + amount; used() < until; {
		burn.Words(1000)
	}
}

func main() {
	otel.SetTracerProvider(sdktrace.NewTracerProvider())
	_, span := otel.Tracer("early").Start(context.Background(), "first")
	burnInSpan(each)
	span.End()
	fmt.Printf("early: span=%s cpu_us=%d\n", span.SpanContext().SpanID(), used().Microseconds())
}
