// SPDX-License-Identifier: Apache-2.0

// A CPU profile of the program, for builds with -pgo.
package main

import (
	"context"
	"os"
	"runtime/pprof"
	"time"

	"go.opentelemetry.io/otel"
)

// profiled runs f under the profiler.
func profiled(path string, f func()) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	f()
	pprof.StopCPUProfile()
	return file.Close()
}

// startSpans does nothing but start and end spans: their code becomes hot in the profile, and the
// compiler inlines what it can of it.
func startSpans(limit time.Duration) {
	tracer := otel.Tracer("truth")
	for end := time.Now().Add(limit); time.Now().Before(end); {
		ctx, outer := tracer.Start(context.Background(), spanName)
		_, inner := tracer.Start(ctx, spanName)
		inner.End()
		outer.End()
	}
}
