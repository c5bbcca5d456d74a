// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// crowd is many goroutines that are there at once, each with an open span.
type crowd struct {
	size        int
	stays       time.Duration
	began, gone int64 // on the monotonic clock; 0: not yet
}

// come returns when they are gone, and has said when they are all there.
func (c *crowd) come(until <-chan struct{}) {
	var inside, left sync.WaitGroup
	leave := make(chan struct{})
	inside.Add(c.size)
	left.Add(c.size)
	c.began = clock(clockMonotonic)
	for range c.size {
		go func() {
			defer left.Done()
			_, span := otel.Tracer("spancost").Start(context.Background(), "crowd")
			inside.Done()
			<-leave
			span.End()
		}()
	}
	inside.Wait()
	fmt.Printf("crowd: %d are there after %d ms\n", c.size, (clock(clockMonotonic)-c.began)/1e6)
	select {
	case <-time.After(c.stays):
	case <-until:
	}
	close(leave)
	left.Wait()
	c.gone = clock(clockMonotonic)
	fmt.Println("crowd: gone")
}

// onSignal is closed at the first of these signals, or after that time.
func onSignal(limit time.Duration, which ...os.Signal) <-chan struct{} {
	signals, came := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, which...)
	go func() {
		select {
		case <-signals:
		case <-time.After(limit):
		}
		close(came)
	}()
	return came
}
