// SPDX-License-Identifier: Apache-2.0

// Holds what spans waited, as spanprof saw it, against the Go runtime's own execution trace of the
// same run, in which each span is a region that is named by its ID.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"golang.org/x/exp/trace"
	"spanprof.test/lines"
)

// tracedState is what a goroutine does, as coarse as both sides can tell it.
type tracedState int

const (
	tracedRunning tracedState = iota // has a P: on a CPU or not
	tracedRunnable
	tracedBlocked // also in a system call
	tracedStates
)

// stateTimes are nanoseconds by state.
type stateTimes [tracedStates]float64

func (t *stateTimes) add(other *stateTimes) {
	for i := range t {
		t[i] += other[i]
	}
}

// shares are percent of `whole`.
func (t *stateTimes) shares(whole float64) (s stateTimes) {
	for i := range t {
		s[i] = 100 * t[i] / whole
	}
	return s
}

func (t *stateTimes) sum() float64 { return t[0] + t[1] + t[2] }

// tracedGoroutine is one while its events go by; span "" outside of regions.
type tracedGoroutine struct {
	state tracedState
	known bool
	since trace.Time
	span  string
}

func tracedStateOf(s trace.GoState) (state tracedState, known bool) {
	switch s {
	case trace.GoRunning:
		return tracedRunning, true
	case trace.GoRunnable:
		return tracedRunnable, true
	case trace.GoWaiting, trace.GoSyscall:
		return tracedBlocked, true
	}
	return 0, false
}

// traceReader adds up what goroutines do within regions.
type traceReader struct {
	goroutines map[trace.GoID]*tracedGoroutine
	spans      map[string]*stateTimes
}

func (r *traceReader) goroutine(id trace.GoID) *tracedGoroutine {
	if r.goroutines[id] == nil {
		r.goroutines[id] = &tracedGoroutine{}
	}
	return r.goroutines[id]
}

// settle adds what a goroutine did until now.
func (r *traceReader) settle(g *tracedGoroutine, now trace.Time) {
	if g.span != "" && g.known {
		r.spans[g.span][g.state] += float64(now - g.since)
	}
	g.since = now
}

func (r *traceReader) take(e *trace.Event) {
	switch e.Kind() {
	case trace.EventStateTransition:
		t := e.StateTransition()
		if t.Resource.Kind != trace.ResourceGoroutine {
			return
		}
		g := r.goroutine(t.Resource.Goroutine())
		_, to := t.Goroutine()
		r.settle(g, e.Time())
		g.state, g.known = tracedStateOf(to)
	case trace.EventRegionBegin:
		g := r.goroutine(e.Goroutine())
		r.settle(g, e.Time())
		g.span = e.Region().Type
		r.spans[g.span] = &stateTimes{}
	case trace.EventRegionEnd:
		g := r.goroutine(e.Goroutine())
		r.settle(g, e.Time())
		g.span = ""
	}
}

// readTrace returns by span ID what its goroutine did while it was open.
func readTrace(in io.Reader) (map[string]*stateTimes, error) {
	reader, err := trace.NewReader(in)
	if err != nil {
		return nil, err
	}
	r := &traceReader{map[trace.GoID]*tracedGoroutine{}, map[string]*stateTimes{}}
	for {
		e, err := reader.ReadEvent()
		if errors.Is(err, io.EOF) {
			return r.spans, nil
		}
		if err != nil {
			return nil, err
		}
		r.take(&e)
	}
}

// seenTimes is the same as spanprof saw it.
func seenTimes(s *seenSpan) (t stateTimes) {
	t[tracedRunning] = float64(s.cpu)
	for state, ns := range s.states {
		switch state {
		case "not on cpu", "cpu throttled":
			t[tracedRunning] += float64(ns)
		case "runnable":
			t[tracedRunnable] += float64(ns)
		default:
			t[tracedBlocked] += float64(ns)
		}
	}
	return t
}

// worker is a goroutine of the program: its spans follow one another.
type worker struct {
	elapsed      float64
	traced, seen stateTimes
}

func verifyTraced(args []string) error {
	flags := flag.NewFlagSet("traced", flag.ExitOnError)
	truthPath := flags.String("truth", "", "the program's lines")
	pprofPath := flags.String("pprof", "", "spanprof's pprof file")
	tracePath := flags.String("trace", "", "the runtime's execution trace")
	points := flags.Float64("points", 5, "of elapsed time that a goroutine's state may be off")
	flags.Parse(args)
	truth, err := lines.ReadFile(*truthPath, readWaitTruth)
	if err != nil {
		return err
	}
	spans, err := readWaits(*pprofPath)
	if err != nil {
		return err
	}
	file, err := os.Open(*tracePath)
	if err != nil {
		return err
	}
	defer file.Close()
	traced, err := readTrace(file)
	if err != nil {
		return fmt.Errorf("%s: %w", *tracePath, err)
	}
	return judgeTraced(truth, spans, traced, *points)
}

func judgeTraced(truth []waitTruth, spans map[string]*seenSpan, traced map[string]*stateTimes,
	points float64) error {
	workers := map[string]*worker{}
	var c checklist
	missing := 0
	for i := range truth {
		t := &truth[i]
		name := t.Kind
		if t.Long {
			name += ", long"
		}
		if workers[name] == nil {
			workers[name] = &worker{}
		}
		if traced[t.SpanID] == nil {
			missing++
			continue
		}
		w := workers[name]
		w.traced.add(traced[t.SpanID])
		w.elapsed += traced[t.SpanID].sum()
		if spans[t.SpanID] != nil {
			seen := seenTimes(spans[t.SpanID])
			w.seen.add(&seen)
		}
	}
	c.check(missing == 0, "%d of %d spans are not in the trace", missing, len(truth))
	var names []string
	for name := range workers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		w := workers[name]
		traced, seen := w.traced.shares(w.elapsed), w.seen.shares(w.elapsed)
		worst := 0.0
		for i := range traced {
			worst = max(worst, math.Abs(traced[i]-seen[i]))
		}
		c.check(worst <= points, "%-18s blocked %5.2f %% traced, %5.2f %% seen; runnable "+
			"%5.2f, %5.2f; running %5.2f, %5.2f", name, traced[tracedBlocked],
			seen[tracedBlocked], traced[tracedRunnable], seen[tracedRunnable],
			traced[tracedRunning], seen[tracedRunning])
	}
	return c.result()
}
