// SPDX-License-Identifier: Apache-2.0

// stuck: a service that hangs. Two spans have taken two locks in opposite order, one waits for a
// message that nobody sends, and a goroutine works for that one of which it has but the context.
// With -crowd that many spans more wait, each on a goroutine of its own.
//
// Of each it prints a line once it is about to hang: name, goroutine, trace ID, span ID, when the
// span began in ns since 1970; then "ready". SIGUSR1 is answered by "alive".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

type service struct {
	tracer           trace.Tracer
	accounts, ledger sync.Mutex
	both, told       sync.WaitGroup
	messages, never  chan string
	printing         sync.Mutex
}

func (s *service) tell(name string, span trace.Span) {
	text := make([]byte, 64)
	goid := strings.Fields(string(text[:runtime.Stack(text, false)]))[1]
	id, began := span.SpanContext(), span.(sdktrace.ReadOnlySpan).StartTime()
	s.printing.Lock()
	defer s.printing.Unlock()
	fmt.Println(name, goid, id.TraceID(), id.SpanID(), began.UnixNano())
}

//go:noinline
func (s *service) debit(span trace.Span) {
	s.accounts.Lock()
	defer s.accounts.Unlock()
	s.both.Done()
	s.both.Wait()
	s.tell("debit", span)
	s.told.Done()
	s.ledger.Lock()
	defer s.ledger.Unlock()
}

//go:noinline
func (s *service) credit(span trace.Span) {
	s.ledger.Lock()
	defer s.ledger.Unlock()
	s.both.Done()
	s.both.Wait()
	s.tell("credit", span)
	s.told.Done()
	s.accounts.Lock()
	defer s.accounts.Unlock()
}

func (s *service) withSpan(name string, work func(context.Context, trace.Span)) {
	ctx, span := s.tracer.Start(context.Background(), name)
	defer span.End()
	work(ctx, span)
}

// child has a context, and no span of its own.
//
//go:noinline
func (s *service) child(ctx context.Context) {
	s.tell("child", trace.SpanFromContext(ctx))
	s.told.Done()
	select {
	case <-ctx.Done():
		fmt.Println(ctx.Err())
	case <-s.never:
	}
}

//go:noinline
func (s *service) receive(ctx context.Context, span trace.Span) {
	go s.child(ctx)
	s.tell("receive", span)
	s.told.Done()
	fmt.Println(<-s.messages)
}

func (s *service) wait(_ context.Context, span trace.Span) {
	s.tell("wait", span)
	s.told.Done()
	<-s.never
}

func main() {
	crowd := flag.Int("crowd", 0, "spans that wait besides")
	flag.Parse()
	s := &service{
		tracer:   sdktrace.NewTracerProvider().Tracer("stuck"),
		messages: make(chan string),
		never:    make(chan string),
	}
	s.both.Add(2)
	s.told.Add(4 + *crowd)
	go s.withSpan("debit \x1b[31m account", func(_ context.Context, span trace.Span) { s.debit(span) })
	go s.withSpan("credit account", func(_ context.Context, span trace.Span) { s.credit(span) })
	go s.withSpan("receive message", s.receive)
	for i := range *crowd {
		go s.withSpan(fmt.Sprintf("wait %d", i), s.wait)
	}
	s.told.Wait()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	fmt.Println("ready")
	for range asked {
		fmt.Println("alive")
	}
}
