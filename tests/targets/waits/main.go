// SPDX-License-Identifier: Apache-2.0

// waits: spans that wait in known ways for known times, with work in between.
//
// Each kind of waiting has a worker of its own, whose spans follow one another. What each span did
// is written as a JSON line: its ID, its elapsed time, and by place how long it waited there by the
// program's own clock.
//
//	waits -truth FILE [-trace FILE] [-seconds N] [-long N] [-short N]
//	waits -storm N [-seconds N]          N goroutines that wait for 200 µs here and there
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	rtrace "runtime/trace"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// waited is how long a span waited in one function, and for what by the runtime's own words: until
// that happened, and until the goroutine ran again.
type waited struct {
	Function string `json:"function"`
	Reason   string `json:"reason"`
	Ns       int64  `json:"ns"`
	AllNs    int64  `json:"all_ns"`
}

// line is what a span did.
type line struct {
	Kind    string   `json:"kind"`
	SpanID  string   `json:"span_id"`
	Elapsed int64    `json:"elapsed_ns"`
	Waits   []waited `json:"waits"`
	Long    bool     `json:"long"`
}

// truth is the file of lines.
type truth struct {
	lock sync.Mutex
	out  *bufio.Writer
	file *os.File
}

func (t *truth) add(l *line) {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	t.out.Write(append(text, '\n'))
}

func (t *truth) close() error {
	if err := t.out.Flush(); err != nil {
		return err
	}
	return t.file.Close()
}

var sink uint64

//go:noinline
func work(d time.Duration) {
	until := time.Now().Add(d)
	for x := uint64(1); time.Now().Before(until); {
		for range 2000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		sink = x
	}
}

// run has spans of one kind until the end: work, wait, work.
func run(ctx context.Context, tracer trace.Tracer, k kind, long bool, t *truth) {
	for ctx.Err() == nil {
		duration := time.Duration(10+rand.Intn(30)) * time.Millisecond
		if long {
			duration = time.Duration(1000+rand.Intn(300)) * time.Millisecond
		}
		_, span := tracer.Start(context.Background(), k.name)
		id := span.SpanContext().SpanID().String()
		region := rtrace.StartRegion(context.Background(), id)
		began := time.Now()
		l := line{Kind: k.name, Long: long}
		work(2 * time.Millisecond)
		for _, p := range k.places {
			var ended moment
			p.prepare(duration, &ended)
			from := time.Now()
			p.wait(duration)
			all := int64(time.Since(from))
			l.Waits = append(l.Waits, waited{p.function, p.reason,
				min(all, max(0, ended.ns.Load()-from.UnixNano())), all})
		}
		work(2 * time.Millisecond)
		l.Elapsed = int64(time.Since(began))
		l.SpanID = id
		region.End()
		span.End()
		t.add(&l)
	}
}

// startTrace has the runtime write its execution trace, if a path is given, until stop is called.
func startTrace(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func() error {
		rtrace.Stop()
		return file.Close()
	}, rtrace.Start(file)
}

func main() {
	path := flag.String("truth", "", "file for what was done (JSON lines)")
	tracePath := flag.String("trace", "", "file for the runtime's execution trace")
	seconds := flag.Int("seconds", 20, "how long")
	long := flag.Int("long", 1, "workers of spans of a second and more, per kind")
	short := flag.Int("short", 1, "workers of spans of some ten milliseconds, per kind")
	stormers := flag.Int("storm", 0, "goroutines that wait for a moment, here and there")
	flag.Parse()
	tracer := sdktrace.NewTracerProvider().Tracer("waits")
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(*seconds)*time.Second)
	defer stop()
	if *stormers > 0 {
		storm(ctx, tracer, *stormers)
		return
	}
	file, err := os.Create(*path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "waits:", err)
		os.Exit(1)
	}
	stopTrace, err := startTrace(*tracePath)
	if err != nil {
		fmt.Fprintln(os.Stderr, "waits:", err)
		os.Exit(1)
	}
	t := &truth{out: bufio.NewWriter(file), file: file}
	var all sync.WaitGroup
	for i := range *long + *short {
		for _, k := range kinds() {
			all.Add(1)
			go func() {
				defer all.Done()
				run(ctx, tracer, k, i < *long, t)
			}()
		}
	}
	fmt.Println("ready")
	all.Wait()
	if err := errors.Join(stopTrace(), t.close()); err != nil {
		fmt.Fprintln(os.Stderr, "waits:", err)
		os.Exit(1)
	}
	fmt.Println("done")
}
