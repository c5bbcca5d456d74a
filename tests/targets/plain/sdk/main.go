// SPDX-License-Identifier: Apache-2.0

// sdk: programs that link the OpenTelemetry SDK and still give nothing to tag. The agent must tell
// them apart in words.
//
//	-mode noprovider   starts spans, but no provider was set: none is recorded
//	-mode unsampled    a provider whose sampler takes nothing
//	-mode idle         a provider, but no traffic: no span is started
//	-mode spans        the same with spans, for comparison
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"spanprof.test/plain/burn"
)

func main() {
	mode := flag.String("mode", "noprovider", "noprovider, unsampled, idle or spans")
	seconds := flag.Int("seconds", 10, "how long; SIGTERM ends it earlier")
	flag.Parse()
	samplers := map[string]sdktrace.Sampler{"noprovider": nil, "spans": sdktrace.AlwaysSample(),
		"unsampled": sdktrace.NeverSample(), "idle": sdktrace.AlwaysSample()}
	sampler, known := samplers[*mode]
	if !known {
		fmt.Fprintf(os.Stderr, "sdk: no mode %q\n", *mode)
		os.Exit(2)
	}
	// The provider is made in any case, so that the linker keeps the SDK.
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))
	if sampler != nil {
		otel.SetTracerProvider(provider)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	fmt.Printf("sdk: ready, pid %d, %s\n", os.Getpid(), *mode)
	until := time.After(time.Duration(*seconds) * time.Second)
	sometimes := time.NewTicker(20 * time.Millisecond)
	for {
		select {
		case <-signals:
			return
		case <-until:
			return
		case <-sometimes.C: // as a server does: every place that is probed is gone through
			go burn.Words(100)
		default:
			round(*mode)
		}
	}
}

func round(mode string) {
	if mode != "idle" {
		_, span := otel.Tracer("sdk").Start(context.Background(), "round")
		defer span.End()
	}
	burn.Words(10_000)
}
