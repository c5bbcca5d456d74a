// SPDX-License-Identifier: Apache-2.0

// truth: a service with the real OpenTelemetry SDK in which the span and the stack of every moment
// of CPU time are known. It logs what it did; the verifier compares samples with that.
//
// The text compiles with Go 1.18 and newer and with every SDK from 1.0.1 on: tests/e2e/matrix.sh
// builds it with other versions than go.mod names.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exporter keeps the IDs of finished spans, as a backend would.
type exporter struct {
	lock sync.Mutex
	ids  []trace.SpanID
}

func (e *exporter) ExportSpans(_ context.Context, ended []sdktrace.ReadOnlySpan) error {
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, span := range ended {
		if len(e.ids) < cap(e.ids) {
			e.ids = append(e.ids, span.SpanContext().SpanID())
		}
	}
	return nil
}

func (e *exporter) Shutdown(context.Context) error { return nil }

func main() {
	seconds := flag.Int("seconds", 30, "how long to work; SIGTERM ends it earlier")
	workers := flag.Int("workers", 8, "concurrent workers")
	path := flag.String("truth", "", "file for the truth records (JSON lines)")
	profile := flag.String("profile", "", "only write a CPU profile of the work to this file")
	hot := flag.Bool("profile-starts", false, "with -profile: of nothing but starting spans")
	flag.Parse()
	if *seconds < 1 || *seconds > 3600 || *workers < 1 || *workers > 256 {
		fmt.Fprintln(os.Stderr, "truth: -seconds 1..3600, -workers 1..256")
		os.Exit(2)
	}
	// A slot takes a millisecond of a core or more.
	size := *seconds * 1000 * atLeast(2, runtime.GOMAXPROCS(0)) / 2
	slots, spans = make([]slotRecord, size), make([]spanRecord, size)
	exported := &exporter{ids: make([]trace.SpanID, 0, size)}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exported),
		sdktrace.WithSampler(sdktrace.AlwaysSample()))
	otel.SetTracerProvider(provider)
	calibrate()
	limit := time.Duration(*seconds) * time.Second
	if *profile != "" {
		toProfile := func() { work(*workers, limit) }
		if *hot {
			toProfile = func() { startSpans(limit) }
		}
		if err := profiled(*profile, toProfile); err != nil {
			fmt.Fprintln(os.Stderr, "truth:", err)
			os.Exit(1)
		}
		return
	}
	begin := time.Now()
	work(*workers, limit)
	fmt.Printf("truth: %d slots, %d spans issued, %d exported, %d records dropped, %.1f s\n",
		slotCount.load(), spanCount.load(), len(exported.ids), dropped.load(),
		time.Since(begin).Seconds())
	if err := check(exported.ids); err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
	if *path != "" {
		if err := write(*path); err != nil {
			fmt.Fprintln(os.Stderr, "truth:", err)
			os.Exit(1)
		}
	}
}

func atLeast(least, n int) int {
	if n < least {
		return least
	}
	return n
}

// work runs the workers for `limit` or until a signal.
func work(workers int, limit time.Duration) {
	var stop mark
	var running, serving, ending sync.WaitGroup
	pool, ends := make(chan task), make(chan handedSpan)
	for i := 0; i < atLeast(2, workers/2); i++ {
		serving.Add(1)
		go serve(pool, &serving)
	}
	ending.Add(1)
	go endOthers(ends, &ending)
	for i := 0; i < workers; i++ {
		running.Add(1)
		w := &worker{unit: 3 + 1.5*float64(i%8), pool: pool, ends: ends,
			done: make(chan struct{}), stop: &stop, rand: rand.New(rand.NewSource(int64(i)))}
		go w.loop(&running)
	}
	beginOlder(&stop, ends, &running)
	fmt.Printf("truth: ready, pid %d, %d workers\n", os.Getpid(), workers)

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-signals:
	case <-time.After(limit):
	}
	stop.set()
	running.Wait()
	close(pool)
	close(ends)
	serving.Wait()
	ending.Wait()
}

// check compares what the exporter got with what the program issued.
func check(exported []trace.SpanID) error {
	if dropped.load() > 0 {
		return fmt.Errorf("%d records did not fit", dropped.load())
	}
	issued := make(map[trace.SpanID]bool)
	for _, span := range spans[:spanCount.load()] {
		issued[span.span] = true
	}
	for _, id := range exported {
		if !issued[id] {
			return fmt.Errorf("span %s was exported but not issued", id)
		}
	}
	return nil
}

// header is the first line of the truth file.
type header struct {
	Pid       int        `json:"pid"`
	Go        string     `json:"go"`
	Monotonic int64      `json:"monotonic_ns"` // the same moment on two clocks
	Wall      int64      `json:"wall_ns"`
	Kinds     []kindLine `json:"kinds"`
}

type kindLine struct {
	Name  string  `json:"name"`
	Stack []frame `json:"stack"` // leaf first
	Slot  int     `json:"slot"`  // index of slot() in it; what lies below is the kind's own
}

func write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	head := header{Pid: os.Getpid(), Go: runtime.Version(), Monotonic: clock(clockMonotonic),
		Wall: time.Now().UnixNano()}
	fn := runtime.FuncForPC(reflect.ValueOf(slot).Pointer())
	slotFile, first := fn.FileLine(fn.Entry())
	call := int(atomic.LoadInt64(&slotCall))
	for k := kind(0); k < kindCount; k++ {
		chain := k.chain()
		stack := append(chain, frame{fn.Name(), slotFile, first, call + 3, call})
		head.Kinds = append(head.Kinds,
			kindLine{kinds[k].name, append(stack, callers[k]...), len(chain)})
	}
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", line)
	for _, s := range spans[:spanCount.load()] {
		fmt.Fprintf(out, `{"span":"%s","trace":"%s","tid":%d,"start":[%d,%d],"end":[%d,%d]}`+"\n",
			s.span, s.trace, s.tid, s.startBegin, s.startEnd, s.endBegin, s.endEnd)
	}
	for _, s := range slots[:slotCount.load()] {
		fmt.Fprintf(out, `{"kind":%d,"tid":%d,"begin":%d,"finish":%d,"cpu":%d,"span":"%s",`+
			`"trace":"%s"}`+"\n", s.kind, s.tid, s.begin, s.end, s.cpu,
			hex.EncodeToString(s.span[:]), hex.EncodeToString(s.trace[:]))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
