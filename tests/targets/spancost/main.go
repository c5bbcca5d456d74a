// SPDX-License-Identifier: Apache-2.0

// spancost: what a span and a go statement cost in CPU time, one line of figures a second.
//
// Everything runs on one P, so the process's CPU time holds the cost of both sides of a go
// statement and of the kernel's traps. Compare lines taken with and without an agent.
//
//	spancost [-seconds N]                        spans and go statements as fast as they go
//	spancost -truth FILE -rate N [-crowd N]      N spans a second, and what they were for
//	spancost -gos N                              N go statements a second under an open span
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// batch is how much is done between two looks at the clocks.
const batch = 2000

// cpuTime is the user and system time of the whole process in nanoseconds.
func cpuTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// cost runs f in batches for about `limit` and gives its CPU time per round.
func cost(limit time.Duration, f func()) (nanoseconds float64, rounds int) {
	begin, until := cpuTime(), time.Now().Add(limit)
	for time.Now().Before(until) {
		for range batch {
			f()
		}
		rounds += batch
	}
	return float64(cpuTime()-begin) / float64(rounds), rounds
}

func startAndEnd() {
	_, span := otel.Tracer("spancost").Start(context.Background(), "work")
	span.End()
}

func spawn(finished *sync.WaitGroup) {
	finished.Add(1)
	go func() { finished.Done() }()
	finished.Wait()
}

func main() {
	seconds := flag.Int("seconds", 10, "how long; SIGTERM ends it earlier")
	truth := flag.String("truth", "", "file for what was done (JSON lines)")
	rate := flag.Int("rate", 100000, "with -truth: spans a second")
	many := flag.Int("crowd", 0, "with -truth: at SIGUSR1 so many goroutines, each in a span")
	stays := flag.Duration("stays", 5*time.Second, "how long these stay")
	gos := flag.Int("gos", 0, "only go statements, so many a second")
	flag.Parse()
	limit := time.Duration(*seconds) * time.Second
	switch {
	case *truth != "":
		c := &crowd{size: *many, stays: *stays}
		if err := load(*truth, *rate, limit, c); err != nil {
			fmt.Fprintln(os.Stderr, "spancost:", err)
			os.Exit(1)
		}
		return
	case *gos > 0:
		startGoroutines(*gos, limit)
		return
	}
	asFastAsTheyGo(*seconds)
}

func asFastAsTheyGo(seconds int) {
	runtime.GOMAXPROCS(1)
	otel.SetTracerProvider(sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample())))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	fmt.Printf("spancost: ready, pid %d\n", os.Getpid())
	var finished sync.WaitGroup
	for range seconds {
		const third = time.Second / 3
		span, spans := cost(third, startAndEnd)
		outside, gos := cost(third, func() { spawn(&finished) })
		_, open := otel.Tracer("spancost").Start(context.Background(), "open")
		inside, _ := cost(third, func() { spawn(&finished) })
		open.End()
		fmt.Printf("span_ns=%.0f go_ns=%.0f go_in_span_ns=%.0f spans=%d gos=%d\n", span, outside,
			inside, spans, gos)
		select {
		case <-signals:
			return
		default:
		}
	}
}
