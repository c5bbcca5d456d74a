// SPDX-License-Identifier: Apache-2.0

// Rounds of work whose every result, label and trace is a matter of the seed alone. Two runs print
// the same lines and export the same spans, however they are scheduled, unless something harms one.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	workers     = 4
	tasksEach   = 3
	labelsEvery = 4 // rounds: reading them stops the world
)

// worker has its tasks done on a goroutine of its own in each round.
type worker struct {
	name    string
	results chan uint64
	parked  chan struct{} // it stands in a span, under labels
	goOn    chan struct{}
}

// run is one run of the program.
type run struct {
	seed    uint64
	spans   *exporter
	workers []*worker
	hash    uint64 // of all lines so far
	out     *bufio.Writer
}

var panics atomic.Int64

func workCommand(args []string) error {
	flags := flag.NewFlagSet("work", flag.ExitOnError)
	rounds := flags.Int("rounds", 1<<30, "so many; SIGTERM ends it earlier, after a whole round")
	spansPath := flags.String("spans", "", "file for the exported spans")
	seed := flags.Uint64("seed", 1, "of everything")
	if err := flags.Parse(args); err != nil {
		return err
	}
	spans, err := newExporter(*spansPath)
	if err != nil {
		return err
	}
	tracer = newTracer(sdktrace.WithSyncer(spans), sdktrace.WithIDGenerator(sequenceIDs{}),
		sdktrace.WithSampler(byName{}))
	debug.SetGCPercent(5)
	stop := ending()
	r := &run{seed: *seed, spans: spans, out: bufio.NewWriter(os.Stdout)}
	for i := range workers {
		r.workers = append(r.workers, &worker{fmt.Sprintf("worker-%d", i), make(chan uint64),
			make(chan struct{}), make(chan struct{})})
	}
	keepLabelled()
	go collect()
	go profileOneself()
	fmt.Fprintf(os.Stderr, "work: ready, pid %d\n", os.Getpid())
	round := 0
	for ; round < *rounds && len(stop) == 0; round++ {
		if err := r.round(round); err != nil {
			return err
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(os.Stderr, "work: done, %d rounds, %d spans, %d panics, %d collections\n", round,
		spans.count, panics.Load(), memory.NumGC)
	return spans.close()
}

// collect never lets the garbage collector rest: it shrinks stacks that deep calls have grown.
func collect() {
	for {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// profileOneself adds the signals of the runtime's own profiler.
func profileOneself() {
	for {
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			panic(err)
		}
		time.Sleep(300 * time.Millisecond)
		pprof.StopCPUProfile()
		time.Sleep(300 * time.Millisecond)
	}
}

// round has all workers do their tasks, and prints what came of it.
func (r *run) round(number int) error {
	for i, w := range r.workers {
		seed := mix(mix(r.seed, uint64(number)), uint64(i))
		go w.round(withSequence(context.Background(), seed), seed)
	}
	labels := ""
	for _, w := range r.workers {
		<-w.parked
	}
	if number%labelsEvery == 0 {
		labels = labelsOfAll()
	}
	for _, w := range r.workers {
		w.goOn <- struct{}{}
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%x %s", r.hash, labels)
	results := ""
	for _, w := range r.workers {
		results += fmt.Sprintf(" %016x", <-w.results)
	}
	traces, err := r.spans.take(number)
	if err != nil {
		return err
	}
	fmt.Fprintf(hash, "%s %x", results, traces)
	r.hash = hash.Sum64()
	fmt.Fprintf(r.out, "%d%s spans %016x hash %016x labels %s\n", number, results, traces, r.hash,
		labels)
	return r.out.Flush()
}
