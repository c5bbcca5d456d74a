// SPDX-License-Identifier: Apache-2.0

// census_program has goroutines that stand still with spans of all kinds, and tells of each which
// open ones it works for, outermost first; "+" before those to which but a context leads. With an
// argument contexts are what it is about. Ends with its standard input.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
)

const deep = 20

type key int

var (
	ever     chan struct{}
	printing sync.Mutex
)

func tell(name string, open ...trace.Span) { tellContexts(name, open) }

func tellContexts(name string, open []trace.Span, ledTo ...trace.Span) {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	words := []string{name, strings.Fields(string(text))[1]}
	for _, span := range open {
		words = append(words, span.ID())
	}
	for _, span := range ledTo {
		words = append(words, "+"+span.ID())
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(strings.Join(words, " "))
}

//go:noinline
func use(ctx context.Context) {
	if ctx.Value(key(7)) != nil {
		fmt.Println("used")
	}
}

func none() {
	tell("none")
	<-ever
}

func one() {
	ctx, span := trace.Start(context.Background(), "one")
	defer span.End()
	tell("one", span)
	<-ever
	use(ctx)
}

func nested() {
	ctx, outer := trace.Start(context.Background(), "outer")
	defer outer.End()
	ctx, middle := trace.Start(ctx, "middle")
	ctx, inner := trace.Start(ctx, "inner")
	middle.End()
	tell("nested", outer, inner)
	<-ever
	use(ctx)
	inner.End()
}

func ended() {
	ctx, outer := trace.Start(context.Background(), "outer")
	defer outer.End()
	ctx, inner := trace.Start(ctx, "inner")
	inner.End()
	tell("ended", outer)
	<-ever
	use(ctx)
}

func wrapped() {
	ctx, span := trace.Start(context.Background(), "wrapped")
	defer func() { span.End() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(context.WithValue(ctx, key(1), "x"), time.Hour)
	defer cancel()
	tell("wrapped", span)
	<-ever
	use(ctx)
}

// frames hands its context on and needs it again.
func frames() {
	ctx, outer := trace.Start(context.Background(), "caller")
	defer outer.End()
	callee(ctx, outer)
	use(ctx)
}

//go:noinline
func callee(ctx context.Context, outer trace.Span) {
	ctx, inner := trace.Start(ctx, "callee")
	defer inner.End()
	tell("frames", outer, inner)
	<-ever
	use(ctx)
}

// unsampled needs none but the context of a span that is sampled out.
func unsampled() {
	ctx, _ := trace.Start(context.Background(), "recorded")
	ctx, _ = trace.StartUnsampled(ctx)
	tell("unsampled")
	<-ever
	use(ctx)
}

// over has a context that it does not need any more.
func over() {
	ctx, _ := trace.Start(context.Background(), "over")
	use(ctx)
	tell("over")
	use(ctx)
	<-ever
}

// bare knows its span, not its context.
func bare() {
	_, span := trace.Start(context.Background(), "bare")
	tell("bare", span)
	<-ever
	span.End()
}

// many has more spans open than are kept: the innermost are.
func many() {
	nest(context.Background(), nil)
}

//go:noinline
func nest(ctx context.Context, spans []trace.Span) {
	ctx, span := trace.Start(ctx, "many")
	defer span.End()
	spans = append(spans, span)
	if len(spans) < deep {
		nest(ctx, spans)
		return
	}
	tell("many", spans[deep-16:]...)
	<-ever
}

// strangers has two contexts; the span of one of them is its own.
func strangers() {
	other, _ := trace.Start(context.Background(), "stranger")
	ctx, span := trace.Start(context.Background(), "known")
	defer span.End()
	use(other)
	tell("strangers", span)
	use(other)
	<-ever
	use(ctx)
}

// addressed has the inner span in a variable whose address is taken.
func addressed() {
	ctx, outer := trace.Start(context.Background(), "outer")
	defer outer.End()
	var inner trace.Span
	begin(ctx, &inner)
	tell("addressed", outer, inner)
	wait(&inner)
}

//go:noinline
func begin(ctx context.Context, inner *trace.Span) {
	_, *inner = trace.Start(ctx, "inner")
}

//go:noinline
func wait(inner *trace.Span) {
	<-ever
	(*inner).End()
}

// grown has been given a span that it does not need any more: as its stack grew, the arguments were
// kept where they are from then on, behind a return address.
func grown() {
	_, span := trace.Start(context.Background(), "grown")
	grow(span)
}

//go:noinline
func grow(span trace.Span) {
	var large [32 << 10]byte
	large[len(span.ID())] = 1
	tell("grown")
	<-ever
	fmt.Println(large[len(ever)])
}

// recycled has no span; its stack is one that others have left deferred calls on.
func recycled() {
	_, span := trace.Start(context.Background(), "recycled")
	leave(span, deep)
	park(deep)
}

//go:noinline
func leave(span trace.Span, depth int) {
	call(depth, func() { span.End() })
	if depth > 0 {
		leave(span, depth-1)
	}
}

//go:noinline
func call(depth int, f func()) {
	if depth < 0 {
		f()
	}
}

//go:noinline
func park(depth int) {
	var room [8]uint64
	if depth == 0 {
		tell("recycled")
		<-ever
		for i := range room {
			room[i] = uint64(len(ever) + i)
		}
	} else {
		park(depth - 1)
	}
	if room[0] > 0 {
		fmt.Println(room)
	}
}

func spans() {
	for _, f := range []func(){
		none, one, nested, ended, wrapped, frames, unsampled, over, bare, many, strangers,
		addressed, grown, recycled,
	} {
		go f()
	}
}

func main() {
	ever = make(chan struct{})
	if len(os.Args) > 1 {
		contexts()
	} else {
		spans()
	}
	var input [1]byte
	for {
		if n, err := syscall.Read(0, input[:]); n == 0 || err != nil && err != syscall.EINTR {
			os.Exit(0)
		}
	}
}
