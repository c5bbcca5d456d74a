// SPDX-License-Identifier: Apache-2.0

// What the service does: the ways in which spans begin, nest, end and are left behind. A name with
// a # in it is built anew for each span, so that the garbage collector may take it.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const (
	workers      = 12       // long-lived goroutines
	crowd        = 300      // goroutines that are alive at once, twice in a phase
	perJob       = 7        // spans, on average over the jobs
	perRequest   = 2        // spans
	litterBytes  = 60 << 20 // a second
	litterPieces = 64       // between two looks at the clock
)

var errRefused = errors.New("refused")

// service is at work for one phase.
type service struct {
	tracer   trace.Tracer
	until    <-chan struct{}
	interval time.Duration // between two spans
	started  sync.WaitGroup
	spans    atomic.Int64
	ends     chan trace.Span
}

func (s *service) start(ctx context.Context, name string, options ...trace.SpanStartOption) (
	context.Context, trace.Span) {
	s.spans.Add(1)
	return s.tracer.Start(ctx, name, options...)
}

func (s *service) isOver() bool {
	select {
	case <-s.until:
		return true
	default:
		return false
	}
}

// serve returns when nothing of it runs any more.
func (s *service) serve() {
	s.ends = make(chan trace.Span)
	go func() {
		for span := range s.ends {
			span.End()
			s.started.Done()
		}
	}()
	// A third of the spans each for jobs, requests and a crowd at two moments, roughly.
	s.started.Add(workers + 2)
	for i := range workers {
		go s.work(i, s.interval*3/2*workers*perJob)
	}
	go s.accept(s.interval * 3 * perRequest)
	go s.gather(s.interval * 3 * crowd)
	s.started.Wait()
	close(s.ends)
}

// paced calls f so often until the phase is over, the first time after a part of that.
func (s *service) paced(interval, first time.Duration, f func(round int)) {
	defer s.started.Done()
	wait := time.NewTimer(first)
	defer wait.Stop()
	for round := 0; ; round++ {
		select {
		case <-s.until:
			return
		case <-wait.C:
		}
		wait.Reset(interval)
		f(round)
	}
}

// work is one of the goroutines that are as old as the service.
func (s *service) work(number int, interval time.Duration) {
	jobs := []func(int){s.order, s.load, s.imported, s.handed, s.slow}
	s.paced(interval, interval*time.Duration(number)/workers, func(round int) {
		jobs[(number+round)%len(jobs)](number)
	})
}

// accept starts a goroutine for each request, which ends with it.
func (s *service) accept(interval time.Duration) {
	s.paced(interval, interval, func(round int) {
		s.started.Add(1)
		go s.request(round)
	})
}

func (s *service) request(round int) {
	defer s.started.Done()
	ctx, request := s.start(context.Background(), "GET", trace.WithSpanKind(trace.SpanKindServer))
	defer request.End()
	busy()
	_, render := s.start(ctx, "render")
	if round%4 == 0 {
		time.Sleep(time.Millisecond)
	}
	request.SetName(fmt.Sprintf("GET /items/#%d", round))
	busy()
	if round%10 == 0 {
		render.SetStatus(codes.Error, "no template")
	}
	render.End()
}

// gather has many goroutines with a span each at the same time. Half of them stay when it is over:
// idle, as the goroutines of open connections are.
func (s *service) gather(interval time.Duration) {
	s.paced(interval, interval/4, func(int) {
		var inside sync.WaitGroup
		inside.Add(crowd)
		s.started.Add(crowd)
		for i := range crowd {
			go func() {
				defer s.started.Done()
				_, span := s.start(context.Background(), "crowd")
				inside.Done()
				inside.Wait()
				span.End()
				if i%2 == 0 {
					<-s.until
				}
			}()
		}
		inside.Wait()
	})
}

// order nests, has siblings, a name that is set late, and every kind.
func (s *service) order(int) {
	ctx, order := s.start(context.Background(), "POST", trace.WithSpanKind(trace.SpanKindServer))
	parsed, parse := s.start(ctx, "parse")
	busy()
	_, validate := s.start(parsed, "validate")
	busy()
	validate.End()
	parse.End()
	for _, name := range []string{"SELECT stock", "UPDATE stock", "SELECT price"} {
		_, query := s.start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
		time.Sleep(500 * time.Microsecond)
		query.End()
	}
	order.SetName("POST /orders/{id}/lines of a customer whose address is not known to the shop" +
		" and has to be asked for in another system")
	_, publish := s.start(ctx, "publish", trace.WithSpanKind(trace.SpanKindProducer))
	sent := trace.ContextWithRemoteSpanContext(context.Background(), publish.SpanContext())
	publish.End()
	_, consume := s.start(sent, "consume", trace.WithSpanKind(trace.SpanKindConsumer))
	busy()
	consume.End()
	order.SetStatus(codes.Ok, "")
	order.End()
}

// load starts and ends one span after the other, some of which fail.
func (s *service) load(worker int) {
	ctx, load := s.start(context.Background(), fmt.Sprintf("load #%d", worker))
	for i := range perJob {
		_, read := s.start(ctx, "read")
		busy()
		if i == perJob-1 {
			read.RecordError(errRefused)
			read.SetStatus(codes.Error, errRefused.Error())
		}
		read.End()
	}
	load.SetStatus(codes.Error, "incomplete")
	load.End()
}

// imported has times that the caller sets: of long ago, with and without the monotonic clock, and
// ends before the start.
func (s *service) imported(int) {
	past := time.Now().Add(-time.Hour).Round(0)
	ctx, batch := s.start(context.Background(), "imported", trace.WithTimestamp(past))
	for i := range perJob - 1 {
		at := past.Add(time.Duration(i) * 1234567 * time.Nanosecond)
		_, item := s.start(ctx, "imported item", trace.WithTimestamp(at))
		switch i % 3 {
		case 0:
			item.End(trace.WithTimestamp(at.Add(987654321)))
		case 1:
			item.End(trace.WithTimestamp(at.Add(-time.Second))) // takes no time at all
		default:
			item.End()
		}
	}
	batch.End(trace.WithTimestamp(past.Add(time.Minute)))
	for range 3 {
		_, measured := s.start(context.Background(), "measured", trace.WithTimestamp(time.Now()))
		busy()
		measured.End(trace.WithTimestamp(time.Now()))
	}
	_, stamped := s.start(context.Background(), "stamped")
	busy()
	stamped.End(trace.WithTimestamp(time.Now()))
}

// handed has its spans ended by another goroutine.
func (s *service) handed(int) {
	ctx := context.Background()
	for range perJob {
		_, span := s.start(ctx, "handed")
		busy()
		s.started.Add(1)
		s.ends <- span
	}
}

// slow is open at some looks of an agent and then ended, with nothing after it for a while.
func (s *service) slow(int) {
	ctx, outer := s.start(context.Background(), "slow")
	_, inner := s.start(ctx, "slow inside")
	time.Sleep(150 * time.Millisecond)
	inner.End()
	time.Sleep(150 * time.Millisecond)
	outer.End()
}

// busy takes some 20 µs of CPU time.
//
//go:noinline
func busy() {
	x := uint64(1)
	for range 10_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	kept.Store(x)
}

var kept atomic.Uint64

// litter makes garbage of the sizes that spans and what belongs to them have, too.
func (s *service) litter() {
	defer s.started.Done()
	const piece = 512
	for begin, made := time.Now(), 0; !s.isOver(); {
		for i := range litterPieces {
			size := piece << (i % 4) / 2
			last.Store(new(make([]byte, size)))
			made += size
		}
		ahead := time.Duration(float64(made)/litterBytes*float64(time.Second)) - time.Since(begin)
		if ahead > time.Millisecond {
			time.Sleep(ahead)
		}
	}
}

var last atomic.Pointer[[]byte]
