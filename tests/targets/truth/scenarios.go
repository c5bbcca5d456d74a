// SPDX-License-Identifier: Apache-2.0

// What a worker does: the ways spans begin, nest, end and are handed on in real services.
package main

import (
	"context"
	"math/rand"
	"runtime"
	"sync"
	"syscall"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
)

// spanName is the same for all spans: only the ID tells them apart.
const spanName = "work"

var none trace.SpanContext

// started is a span and its row in the table of issued spans.
type started struct {
	trace.Span
	record *spanRecord
}

func start(ctx context.Context) (context.Context, started) {
	begin := clock(clockMonotonic)
	ctx, span := otel.Tracer("truth").Start(ctx, spanName)
	end := clock(clockMonotonic)
	s := started{Span: span, record: &spanRecord{}}
	if index := spanCount.next(); index < int64(len(spans)) {
		s.record = &spans[index]
	} else {
		dropped.next()
	}
	*s.record = spanRecord{startBegin: begin, startEnd: end, tid: int32(syscall.Gettid()),
		trace: span.SpanContext().TraceID(), span: span.SpanContext().SpanID()}
	return ctx, s
}

func (s started) finish() {
	s.record.endBegin = clock(clockMonotonic)
	s.End()
	s.record.endEnd = clock(clockMonotonic)
}

type task struct {
	ctx  context.Context
	work float64
	done chan struct{}
}

// handedSpan goes to the goroutine that ends other goroutines' spans.
type handedSpan struct {
	span started
	done chan struct{}
}

func endOthers(spans chan handedSpan, finished *sync.WaitGroup) {
	defer finished.Done()
	for handed := range spans {
		handed.span.finish()
		handed.done <- struct{}{}
	}
}

type worker struct {
	unit float64 // milliseconds of CPU time: every worker has another, so equal names differ
	pool chan task
	ends chan handedSpan
	done chan struct{}
	stop *mark
	rand *rand.Rand
}

func (w *worker) loop(finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	scenarios := []func(){w.solo, w.nested, w.outOfOrder, w.elsewhere, w.children, w.orphan,
		w.pooled, w.outside, w.leak, w.leaf, w.inline, w.deep}
	for !w.stop.isSet() {
		w.rand.Shuffle(len(scenarios), func(i, j int) {
			scenarios[i], scenarios[j] = scenarios[j], scenarios[i]
		})
		for _, run := range scenarios {
			if w.stop.isSet() {
				return
			}
			run()
		}
	}
}

func (w *worker) solo() {
	_, span := start(context.Background())
	slot(solo, span.SpanContext(), w.unit*(1+8*w.rand.Float64()))
	span.finish()
}

func (w *worker) nested() {
	ctx, outer := start(context.Background())
	slot(nestedOuter, outer.SpanContext(), w.unit)
	ctx, middle := start(ctx)
	slot(nestedMiddle, middle.SpanContext(), 2*w.unit)
	_, inner := start(ctx)
	slot(nestedInner, inner.SpanContext(), 3*w.unit)
	inner.finish()
	slot(nestedMiddleAgain, middle.SpanContext(), w.unit)
	middle.finish()
	slot(nestedOuterAgain, outer.SpanContext(), 2*w.unit)
	outer.finish()
}

// outOfOrder ends the first of three spans first, then the third, then the second.
func (w *worker) outOfOrder() {
	ctx, first := start(context.Background())
	ctx, second := start(ctx)
	_, third := start(ctx)
	slot(orderAllOpen, third.SpanContext(), w.unit)
	first.finish()
	slot(orderFirstEnded, third.SpanContext(), 2*w.unit)
	third.finish()
	slot(orderThirdLeft, second.SpanContext(), 2*w.unit)
	second.finish()
	slot(orderNoneLeft, none, w.unit)
}

// elsewhere has its span ended by another goroutine.
func (w *worker) elsewhere() {
	_, span := start(context.Background())
	slot(elsewhereOpen, span.SpanContext(), 2*w.unit)
	w.ends <- handedSpan{span, w.done}
	<-w.done
	slot(elsewhereEnded, none, 2*w.unit)
}

// children are goroutines started under an open span that know nothing of it.
func (w *worker) children() {
	ctx, span := start(context.Background())
	var finished sync.WaitGroup
	finished.Add(3)
	go w.child(span.SpanContext(), &finished)
	go w.childWithSpan(ctx, span.SpanContext(), &finished)
	slot(parentBeside, span.SpanContext(), 2*w.unit)
	finished.Wait()
	span.finish()
}

func (w *worker) child(sc trace.SpanContext, finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slot(child, sc, 2*w.unit)
	go w.grandchild(sc, finished)
}

func (w *worker) grandchild(sc trace.SpanContext, finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slot(grandchild, sc, 2*w.unit)
}

func (w *worker) childWithSpan(ctx context.Context, parent trace.SpanContext,
	finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, own := start(ctx)
	slot(childOwnSpan, own.SpanContext(), 2*w.unit)
	own.finish()
	slot(childAfterOwn, parent, w.unit)
}

// orphan's child goes on after the span it was started under has ended.
func (w *worker) orphan() {
	_, span := start(context.Background())
	half, ended, finished := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go w.orphaned(span.SpanContext(), half, ended, finished)
	<-half
	span.finish()
	close(ended)
	<-finished
}

func (w *worker) orphaned(sc trace.SpanContext, half, ended, finished chan struct{}) {
	defer close(finished)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slot(orphanOpen, sc, 2*w.unit)
	close(half)
	<-ended
	slot(orphanEnded, none, w.unit)
}

// pooled hands its context to a goroutine that is older than the span.
func (w *worker) pooled() {
	ctx, span := start(context.Background())
	t := task{ctx, 3 * w.unit, make(chan struct{})}
	w.pool <- t
	<-t.done
	span.finish()
}

func serve(tasks chan task, finished *sync.WaitGroup) {
	defer finished.Done()
	runtime.LockOSThread()
	for t := range tasks {
		_, span := start(t.ctx)
		slot(pooledSpan, span.SpanContext(), t.work)
		span.finish()
		close(t.done)
		slot(pooledIdle, none, t.work/3)
	}
}

func (w *worker) outside() {
	slot(outside, none, 4*w.unit)
}

// leak leaves a span open for ever; the next goroutine may get the runtime's same g.
func (w *worker) leak() {
	finished := make(chan struct{})
	go w.leaks(finished)
	<-finished
	go w.afterLeak(finished)
	<-finished
}

func (w *worker) leaks(finished chan struct{}) {
	defer func() { finished <- struct{}{} }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, span := start(context.Background())
	slot(leaked, span.SpanContext(), 2*w.unit)
}

func (w *worker) afterLeak(finished chan struct{}) {
	defer func() { finished <- struct{}{} }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slot(afterLeak, none, 2*w.unit)
}

func (w *worker) leaf() {
	_, span := start(context.Background())
	slot(leaf, span.SpanContext(), 4*w.unit)
	span.finish()
}

func (w *worker) inline() {
	_, span := start(context.Background())
	slot(inline, span.SpanContext(), 2*w.unit)
	span.finish()
}

func (w *worker) deep() {
	_, span := start(context.Background())
	slot(deep, span.SpanContext(), 2*w.unit)
	span.finish()
}
