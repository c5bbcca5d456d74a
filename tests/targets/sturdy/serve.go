// SPDX-License-Identifier: Apache-2.0

// A small HTTP service beside many goroutines that wait, some of them in open spans.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const spansEach = 3 // of a request

var served atomic.Int64

// waitHolding waits where a service waits for others: in a span that it goes on with afterwards.
//
//go:noinline
func waitHolding(ctx context.Context, ready chan<- struct{}) {
	ctx, span := tracer.Start(ctx, "waiting")
	ready <- struct{}{}
	<-ctx.Done()
	span.AddEvent(context.Cause(ctx).Error())
	span.End()
}

// waitDeferring has no more to do with its span than to end it.
//
//go:noinline
func waitDeferring(ctx context.Context, ready chan<- struct{}) {
	ctx, span := tracer.Start(ctx, "waiting")
	defer span.End()
	ready <- struct{}{}
	<-ctx.Done()
}

//go:noinline
func waitOutside(ctx context.Context, ready chan<- struct{}) {
	ready <- struct{}{}
	<-ctx.Done()
}

// park makes so many goroutines wait. Those in open spans are spread evenly, of both kinds alike.
func park(ctx context.Context, parked, open int) {
	ready := make(chan struct{})
	for i := range parked {
		number := i * open / parked
		switch {
		case (i+1)*open/parked == number:
			go waitOutside(ctx, ready)
		case number%2 == 0:
			go waitHolding(ctx, ready)
		default:
			go waitDeferring(ctx, ready)
		}
		<-ready
	}
}

func serveCommand(args []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	parked := flags.Int("parked", 100, "goroutines that wait")
	open := flags.Int("open", 1<<30, "so many of them in open spans")
	if err := flags.Parse(args); err != nil {
		return err
	}
	tracer = newTracer()
	stop := ending()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	park(ctx, *parked, min(*open, *parked))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(handle), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	go tellFigures()
	fmt.Printf("serve: ready, pid %d, address %s\n", os.Getpid(), listener.Addr())
	select {
	case err := <-failed:
		return err
	case <-stop:
	}
	return server.Close()
}

// handle works for some 20 µs in three spans and one goroutine, as small requests do.
func handle(w http.ResponseWriter, r *http.Request) {
	ctx, span := tracer.Start(r.Context(), "request")
	defer span.End()
	sum := make(chan uint64)
	go func() { sum <- garbage(1) }()
	for range spansEach - 1 {
		_, inner := tracer.Start(ctx, "part")
		garbage(2)
		inner.End()
	}
	fmt.Fprintln(w, <-sum)
	served.Add(1)
}

// tellFigures prints what the process has done so far and the CPU time it took, at each SIGUSR1.
func tellFigures() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	for range signals {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			panic(err)
		}
		fmt.Printf("figures: wall_ns %d requests %d spans %d cpu_ns %d\n", time.Now().UnixNano(),
			served.Load(), served.Load()*spansEach, usage.Utime.Nano()+usage.Stime.Nano())
	}
}
