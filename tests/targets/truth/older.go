// SPDX-License-Identifier: Apache-2.0

// Goroutines whose spans begin before the program says that it is ready, and stay open: an agent
// that attaches then has not seen them begin. They hold their spans as services do, by a context
// that is passed down and by a deferred End.
package main

import (
	"context"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

const (
	olderUnit  = 3.0                   // milliseconds of CPU time in a slot
	olderPause = 25 * time.Millisecond // between slots: most of them wait when the agent attaches
	olderHalf  = 3 * time.Second       // after which some spans end
)

type elder struct {
	stop    *mark
	ends    chan handedSpan
	half    time.Time
	began   sync.WaitGroup // all spans are open, all children are there
	running *sync.WaitGroup
}

// beginOlder returns when all these spans have begun.
func beginOlder(stop *mark, ends chan handedSpan, running *sync.WaitGroup) {
	e := &elder{stop: stop, ends: ends, half: time.Now().Add(olderHalf), running: running}
	for _, run := range []func(){e.busy, e.parked, e.asleep, e.withChildren, e.nested, e.ended,
		e.withNew, e.withPool} {
		e.began.Add(1)
		running.Add(1)
		go e.locked(run)
	}
	e.began.Wait()
}

func (e *elder) locked(run func()) {
	defer e.running.Done()
	runtime.LockOSThread()
	run()
}

// pause is where a service waits for others.
//
//go:noinline
func pause(ctx context.Context, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// keep works for a span until the end.
//
//go:noinline
func (e *elder) keep(ctx context.Context, k kind, sc trace.SpanContext) {
	for !e.stop.isSet() {
		slot(k, sc, olderUnit)
		pause(ctx, olderPause)
	}
}

// keepHalf works for a span that is to end while the agent looks.
//
//go:noinline
func (e *elder) keepHalf(ctx context.Context, k kind, sc trace.SpanContext) {
	for !e.stop.isSet() && time.Now().Before(e.half) {
		slot(k, sc, olderUnit)
		pause(ctx, olderPause)
	}
}

// busy is on a CPU, or waits for one, at any time.
func (e *elder) busy() {
	ctx, span := start(context.Background())
	defer span.finish()
	e.began.Done()
	for !e.stop.isSet() && ctx.Err() == nil {
		slot(older, span.SpanContext(), olderUnit)
	}
}

// parked waits in a channel while the agent attaches, and works later.
func (e *elder) parked() {
	ctx, span := start(context.Background())
	defer span.finish()
	e.began.Done()
	pause(ctx, olderHalf*2/3)
	e.keep(ctx, olderParked, span.SpanContext())
}

// asleep has no context, only a span to end.
func (e *elder) asleep() {
	_, span := start(context.Background())
	defer span.finish()
	e.began.Done()
	for !e.stop.isSet() {
		time.Sleep(olderPause)
		slot(olderAsleep, span.SpanContext(), olderUnit)
	}
}

// withChildren waits for goroutines that it has given its context, another derived from it, and
// none at all.
func (e *elder) withChildren() {
	ctx, span := start(context.Background())
	defer span.finish()
	derived, cancel := context.WithCancel(context.WithValue(ctx, derivedKey{}, "value"))
	defer cancel()
	var children sync.WaitGroup
	children.Add(3)
	e.began.Add(3)
	go e.child(ctx, span.SpanContext(), &children)
	go e.derived(derived, span.SpanContext(), &children)
	go e.unaware(span.SpanContext(), &children)
	e.began.Done()
	children.Wait()
}

type derivedKey struct{}

func (e *elder) child(ctx context.Context, sc trace.SpanContext, finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	e.began.Done()
	e.keep(ctx, olderChild, sc)
}

func (e *elder) derived(ctx context.Context, sc trace.SpanContext, finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	e.began.Done()
	e.keep(ctx, olderDerived, sc)
}

func (e *elder) unaware(sc trace.SpanContext, finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	e.began.Done()
	e.keep(context.Background(), olderUnaware, sc)
}

// nested has two open spans, of which the inner one ends first.
func (e *elder) nested() {
	ctx, span := start(context.Background())
	defer span.finish()
	e.inner(ctx)
	e.keep(ctx, olderOuter, span.SpanContext())
}

func (e *elder) inner(ctx context.Context) {
	ctx, span := start(ctx)
	defer span.finish()
	e.began.Done()
	e.keepHalf(ctx, olderInner, span.SpanContext())
}

// ended has its span ended by another goroutine and works on.
func (e *elder) ended() {
	ctx, span := start(context.Background())
	e.began.Done()
	e.keepHalf(ctx, olderUntilEnded, span.SpanContext())
	done := make(chan struct{})
	e.ends <- handedSpan{span, done}
	<-done
	e.keep(ctx, olderEnded, none)
}

// withNew begins spans and goroutines under the older span, which the agent sees.
func (e *elder) withNew() {
	ctx, span := start(context.Background())
	defer span.finish()
	e.began.Done()
	for !e.stop.isSet() {
		_, inner := start(ctx)
		slot(olderNew, inner.SpanContext(), olderUnit)
		inner.finish()
		slot(olderAgain, span.SpanContext(), olderUnit)
		done := make(chan struct{})
		go e.newChild(span.SpanContext(), done)
		<-done
		pause(ctx, olderPause)
	}
}

func (e *elder) newChild(sc trace.SpanContext, finished chan struct{}) {
	defer close(finished)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slot(olderNewChild, sc, olderUnit)
}

// withPool has had a part of its work done by a goroutine that does other work now.
func (e *elder) withPool() {
	ctx, span := start(context.Background())
	defer span.finish()
	tasks, served := make(chan task), make(chan struct{})
	go e.serveOne(tasks, served)
	t := task{ctx, 0, make(chan struct{})}
	tasks <- t
	<-t.done
	e.began.Done()
	<-served
}

func (e *elder) serveOne(tasks chan task, served chan struct{}) {
	defer close(served)
	runtime.LockOSThread()
	t := <-tasks
	trace.SpanFromContext(t.ctx).AddEvent("served")
	close(t.done)
	e.keep(context.Background(), olderIdle, none)
}
