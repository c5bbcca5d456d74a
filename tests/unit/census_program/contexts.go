// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
)

// holder has a span, whose context is given to others.
func holder(given chan<- func(func(context.Context, trace.Span))) {
	ctx, span := trace.Start(context.Background(), "held")
	defer span.End()
	given <- func(f func(context.Context, trace.Span)) { go f(ctx, span) }
	tell("holder", span)
	<-ever
}

func child(ctx context.Context, span trace.Span) {
	tellContexts("child", nil, span)
	<-ever
	use(ctx)
}

func through(ctx context.Context, span trace.Span) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, key(1), "x"))
	defer cancel()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
	defer cancel()
	tellContexts("through", nil, span)
	<-ever
	use(ctx)
}

func far(ctx context.Context, span trace.Span) {
	for i := range 20 {
		ctx = context.WithValue(ctx, key(i+100), i)
	}
	tellContexts("far", nil, span)
	<-ever
	use(ctx)
}

// farther has a context that is followed not so far.
func farther(ctx context.Context, _ trace.Span) {
	for i := range 50 {
		ctx = context.WithValue(ctx, key(i+100), i)
	}
	tellContexts("farther", nil)
	<-ever
	use(ctx)
}

// dropped works for one that is sampled out.
func dropped(ctx context.Context, _ trace.Span) {
	ctx, _ = trace.StartUnsampled(ctx)
	tellContexts("dropped", nil)
	<-ever
	use(ctx)
}

func spent(ctx context.Context, _ trace.Span) {
	use(ctx)
	tellContexts("spent", nil)
	<-ever
}

// late works on for a span that has ended.
func late(ctx context.Context, _ trace.Span) {
	ctx, span := trace.Start(ctx, "late")
	span.End()
	tellContexts("late", nil)
	<-ever
	use(ctx)
}

// own has a span of its own and goes on to use the context that it was given.
func own(ctx context.Context, span trace.Span) {
	inner, mine := trace.Start(ctx, "own")
	defer mine.End()
	tellContexts("own", []trace.Span{mine}, span)
	<-ever
	use(inner)
	use(ctx)
}

// two has contexts of two spans; nobody holds the younger one itself any more.
func two(ctx context.Context, span trace.Span) {
	other, orphan := trace.Start(context.Background(), "orphan")
	tellContexts("two", nil, span, orphan)
	<-ever
	use(ctx)
	use(other)
}

// large has its span below much else.
func large(_ context.Context, _ trace.Span) {
	_, mine := trace.Start(context.Background(), "large")
	defer mine.End()
	fill(mine)
}

//go:noinline
func fill(span trace.Span) {
	var room [200 << 10]byte
	room[len(span.ID())] = 1
	tellContexts("large", []trace.Span{span})
	<-ever
	fmt.Println(room[len(ever)])
}

func contexts() {
	given := make(chan func(func(context.Context, trace.Span)))
	go holder(given)
	give := <-given
	for _, f := range []func(context.Context, trace.Span){
		child, through, far, farther, dropped, spent, late, own, two, large,
	} {
		give(f)
	}
}
