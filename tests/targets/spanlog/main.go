// SPDX-License-Identifier: Apache-2.0

// spanlog: a service with the real OpenTelemetry SDK that keeps its own log of every span it ended,
// as its exporter got it. What an agent reads from the SDK's memory is held against that.
//
//	spanlog -log FILE [-seconds N] [-rate N]
//
// It prints "ready" and starts a few spans, so that an agent attaches all its probes. SIGUSR1
// starts the phases: without and with garbage collection, each with and without a batch processor.
// "done" is printed behind them, and SIGTERM ends the program.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// pause lies between phases, so that the garbage of one does not take the spans of the one before.
// An agent that looks twice a second has looked.
const pause = 1200 * time.Millisecond

// phase is a stretch of time with one tracer provider, and what it came to.
type phase struct {
	Name    string  `json:"name"`
	Garbage bool    `json:"garbage"`
	Seconds float64 `json:"seconds"`
	Cycles  uint32  `json:"gc_cycles"`
	Started int64   `json:"started"`

	batch bool
}

func (p *phase) provider(l *log, index int) *sdktrace.TracerProvider {
	to := sdktrace.WithSyncer(exporter{l, index})
	if p.batch {
		to = sdktrace.WithBatcher(exporter{l, index}, sdktrace.WithMaxQueueSize(1<<16))
	}
	return sdktrace.NewTracerProvider(to)
}

// run lets the service work; it returns when all its spans have ended and are in the log.
func (p *phase) run(l *log, index, rate int, until <-chan struct{}) error {
	provider := p.provider(l, index)
	s := &service{tracer: provider.Tracer("spanlog"), until: until, interval: time.Second /
		time.Duration(rate)}
	before, begin := cycles(), time.Now()
	if p.Garbage {
		debug.SetGCPercent(100)
		s.started.Add(1)
		go s.litter()
	}
	s.serve()
	p.Seconds, p.Cycles = time.Since(begin).Seconds(), cycles()-before
	p.Started = s.spans.Load()
	debug.SetGCPercent(-1)
	return provider.Shutdown(context.Background())
}

func cycles() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}

func after(limit time.Duration) <-chan struct{} {
	over := make(chan struct{})
	time.AfterFunc(limit, func() { close(over) })
	return over
}

// onSignal is closed at the first of these signals.
func onSignal(which ...os.Signal) <-chan struct{} {
	signals, came := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, which...)
	go func() {
		<-signals
		close(came)
	}()
	return came
}

func main() {
	path := flag.String("log", "", "file for the log (JSON lines)")
	seconds := flag.Float64("seconds", 4, "length of a phase")
	rate := flag.Int("rate", 900, "spans a second, roughly")
	flag.Parse()
	if *path == "" || *seconds < 0.5 || *seconds > 600 || *rate < 10 || *rate > 10000 {
		fmt.Fprintln(os.Stderr, "spanlog: -log FILE, -seconds 0.5..600, -rate 10..10000")
		os.Exit(2)
	}
	if err := run(*path, time.Duration(*seconds*float64(time.Second)), *rate); err != nil {
		fmt.Fprintln(os.Stderr, "spanlog:", err)
		os.Exit(1)
	}
}

func run(path string, length time.Duration, rate int) error {
	begin, end := onSignal(syscall.SIGUSR1), onSignal(syscall.SIGTERM, syscall.SIGINT)
	// The heap is large enough for all phases without garbage.
	debug.SetGCPercent(-1)
	l := newLog(5*rate*int(length/time.Second+1) + 10000)
	phases := []phase{
		{Name: "warm-up"},
		{Name: "quiet"},
		{Name: "quiet, batches", batch: true},
		{Name: "garbage", Garbage: true},
		{Name: "garbage, batches", batch: true, Garbage: true},
	}
	fmt.Printf("spanlog: ready, pid %d\n", os.Getpid())
	if err := phases[0].run(l, 0, 10, begin); err != nil {
		return err
	}
	for i := range phases[1:] {
		if err := phases[i+1].run(l, i+1, rate, after(length)); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	if err := l.write(path, phases); err != nil {
		return err
	}
	fmt.Printf("spanlog: done, %d spans\n", l.count())
	<-end
	return nil
}
