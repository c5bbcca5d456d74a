// SPDX-License-Identifier: Apache-2.0

// A load of so many spans a second from workers that know at every moment which span they are at
// work for, and note it down.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"spanprof.test/spancost/serial"
)

const (
	clockMonotonic = 1
	clockThreadCPU = 3

	workers     = 2
	requestsOf  = 100 // a second and worker
	requestTime = time.Second / requestsOf
	shift       = 50 // requests that a worker does before another goroutine takes its place
	workTime    = 600 * time.Microsecond
	lateMost    = time.Second / 5 // is made up for
)

func clock(id uintptr) int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// moment numbers the times of a request, in their order: the worker is in Start; at work for the
// request; starting and ending its children; at work for its last child, a leaf; at work for the
// request again; in End; at work for nobody.
type moment int

const (
	startBegins moment = iota
	workBegins
	childrenBegin
	childrenEnd // and the leaf's Start begins
	leafBegins
	leafEnds // and its End begins
	workGoesOn
	endBegins
	endEnds
	idles
	moments
)

// request is one that a worker did, on one thread.
type request struct {
	serial   serial.Serial // of its span
	tid      int
	children uint16
	lone     bool // it is a leaf itself
	at       [moments]int64
}

// sums are figures since the process began.
type sums struct {
	spans, spanCPU atomic.Int64
}

type worker struct {
	current  serial.Serial
	children int // of a request that has any
	sums     *sums
	done     []request
}

// serve does a shift of requests, or fewer, on a goroutine of its own.
func (w *worker) serve(next time.Time, until <-chan struct{}) time.Time {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx := context.WithValue(context.Background(), workerKey{}, w)
	wait := time.NewTimer(time.Until(next))
	defer wait.Stop()
	for range shift {
		select {
		case <-until:
			return next
		case <-wait.C:
		}
		if len(w.done) < cap(w.done) {
			w.done = append(w.done, w.next(ctx))
		}
		next = next.Add(requestTime)
		if late := time.Since(next); late > lateMost {
			next = next.Add(late) // left out
		}
		wait.Reset(time.Until(next))
	}
	return next
}

func (w *worker) run(until <-chan struct{}, finished *sync.WaitGroup) {
	defer finished.Done()
	next := time.Now()
	for {
		over := make(chan time.Time)
		go func() { over <- w.serve(next, until) }()
		next = <-over
		select {
		case <-until:
			return
		default:
		}
	}
}

// next does a request, of which every other one has children.
func (w *worker) next(ctx context.Context) request {
	r := request{tid: syscall.Gettid()}
	if w.current.Request%2 == 0 {
		w.parent(ctx, &r)
	} else {
		w.loneLeaf(ctx, &r)
	}
	r.at[endEnds] = clock(clockMonotonic)
	work(context.Background())
	r.at[idles] = clock(clockMonotonic)
	return r
}

// parent needs its context to the end.
func (w *worker) parent(ctx context.Context, r *request) {
	tracer := otel.Tracer("spancost")
	r.at[startBegins] = clock(clockMonotonic)
	ctx, span := tracer.Start(ctx, "parent")
	r.at[workBegins] = clock(clockMonotonic)
	r.serial, r.children = w.current, uint16(w.children)
	work(ctx)
	r.at[childrenBegin] = clock(clockMonotonic)
	cpu := clock(clockThreadCPU)
	for range w.children {
		_, child := tracer.Start(ctx, "child")
		child.End()
	}
	w.sums.spanCPU.Add(clock(clockThreadCPU) - cpu)
	w.sums.spans.Add(int64(w.children))
	r.at[childrenEnd] = clock(clockMonotonic)
	leaf(ctx, r)
	r.at[workGoesOn] = clock(clockMonotonic)
	work(ctx)
	r.at[endBegins] = clock(clockMonotonic)
	span.End()
}

// leaf has no use for its context: only the deferred call holds its span.
//
//go:noinline
func leaf(ctx context.Context, r *request) {
	_, span := otel.Tracer("spancost").Start(ctx, "leaf")
	defer span.End()
	r.at[leafBegins] = clock(clockMonotonic)
	work(context.Background())
	r.at[leafEnds] = clock(clockMonotonic)
}

func (w *worker) loneLeaf(ctx context.Context, r *request) {
	r.lone = true
	r.at[startBegins] = clock(clockMonotonic)
	leaf(ctx, r)
	r.serial = w.current
	// There is nothing else.
	for m := workBegins; m <= childrenEnd; m++ {
		r.at[m] = r.at[leafBegins]
	}
	r.at[workGoesOn], r.at[endBegins] = r.at[leafEnds], r.at[leafEnds]
}

var steps int // of the loop of work between two looks at the context, some 50 µs

// work takes workTime of CPU time, and asks now and then whether it is to go on, as services do.
//
//go:noinline
func work(ctx context.Context) {
	for range workTime / (50 * time.Microsecond) {
		spin(steps)
		if ctx.Err() != nil {
			return
		}
	}
}

//go:noinline
func spin(steps int) {
	x := uint64(steps) | 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	kept.Store(x)
}

var kept atomic.Uint64

func calibrate() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for steps = 1000; ; steps *= 2 {
		begin := clock(clockThreadCPU)
		spin(steps)
		if took := clock(clockThreadCPU) - begin; took > 20e6 {
			steps = int(float64(steps) * 50e3 / float64(took))
			return
		}
	}
}

// report prints a line of figures for every second until the end.
func (s *sums) report(until <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	spans, cpu, all := s.spans.Load(), s.spanCPU.Load(), cpuTime()
	for {
		select {
		case <-until:
			return
		case <-tick.C:
		}
		newSpans, newCPU, newAll := s.spans.Load(), s.spanCPU.Load(), cpuTime()
		fmt.Printf("at=%d spans=%d span_ns=%.0f cpu_ms=%d\n", time.Now().UnixNano(), newSpans-spans,
			float64(newCPU-cpu)/float64(max(newSpans-spans, 1)), (newAll-all)/1e6)
		spans, cpu, all = newSpans, newCPU, newAll
	}
}

// load runs until a signal. SIGUSR1 brings the crowd.
func load(path string, rate int, limit time.Duration, c *crowd) error {
	calibrate()
	ids := &generator{}
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(ids)))
	until := onSignal(limit, syscall.SIGTERM, syscall.SIGINT)
	begin := onSignal(limit, syscall.SIGUSR1)
	runtime.GC() // its workers are no children of a request
	debug.SetGCPercent(400)
	var finished sync.WaitGroup
	var all []*worker
	s := &sums{}
	for i := range workers {
		w := &worker{sums: s, current: serial.Serial{Worker: uint16(i + 1)},
			children: 2*rate/workers/requestsOf - 2,
			done:     make([]request, 0, requestsOf*int(limit/time.Second+1))}
		all = append(all, w)
		finished.Add(1)
		go w.run(until, &finished)
	}
	fmt.Printf("spancost: ready, pid %d\n", os.Getpid())
	go s.report(until)
	select {
	case <-begin:
		c.come(until)
	case <-until:
	}
	<-until
	finished.Wait()
	return write(path, all, c)
}

// write stores what was done, a line of JSON each.
func write(path string, all []*worker, c *crowd) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	fmt.Fprintf(out, `{"pid":%d,"monotonic_ns":%d,"wall_ns":%d,"crowd":[%d,%d],"of":%d}`+"\n",
		os.Getpid(), clock(clockMonotonic), time.Now().UnixNano(), c.began, c.gone, c.size)
	for _, w := range all {
		for _, r := range w.done {
			fmt.Fprintf(out, `{"worker":%d,"request":%d,"children":%d,"lone":%t,"tid":%d,"at":[%d`,
				r.serial.Worker, r.serial.Request, r.children, r.lone, r.tid, r.at[0])
			for _, at := range r.at[1:] {
				fmt.Fprintf(out, ",%d", at)
			}
			fmt.Fprintln(out, "]}")
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
