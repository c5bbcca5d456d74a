// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const gosBatch = 1000

// startGoroutines starts so many a second under one open span, and prints each second what they
// cost. All runs on one P: the CPU time of the process holds both sides of a go statement.
func startGoroutines(rate int, limit time.Duration) {
	runtime.GOMAXPROCS(1)
	otel.SetTracerProvider(sdktrace.NewTracerProvider())
	until := onSignal(limit, syscall.SIGTERM, syscall.SIGINT)
	tracer := otel.Tracer("spancost")
	fmt.Printf("spancost: ready, pid %d\n", os.Getpid())
	interval := time.Second / time.Duration(max(rate/gosBatch, 1))
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var finished sync.WaitGroup
	gos, cpu := 0, int64(0)
	// A new one each second: the agent is to see one start, whenever it comes.
	_, span := tracer.Start(context.Background(), "second")
	for second := time.Now(); ; {
		select {
		case <-until:
			span.End()
			return
		case <-tick.C:
		}
		before := cpuTime()
		finished.Add(gosBatch)
		for range gosBatch {
			go finished.Done()
		}
		finished.Wait()
		cpu += cpuTime() - before
		gos += gosBatch
		if time.Since(second) >= time.Second {
			fmt.Printf("at=%d gos=%d go_ns=%.0f\n", time.Now().UnixNano(), gos,
				float64(cpu)/float64(gos))
			gos, cpu, second = 0, 0, time.Now()
			span.End()
			_, span = tracer.Start(context.Background(), "second")
		}
	}
}
