// SPDX-License-Identifier: Apache-2.0

// sturdy: a program that shows when a profiler harms it, and one that shows how long it is held up.
//
//	sturdy work [-rounds N] [-spans FILE] [-seed N]
//	sturdy serve [-parked N] [-open N]
//	sturdy load -to ADDRESS,… [-clients N] [-each N] [-every DURATION] -records FILE
//	sturdy latency -records FILE -windows FILE [-server N]
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracer is of the one provider of a process.
var tracer trace.Tracer

func newTracer(options ...sdktrace.TracerProviderOption) trace.Tracer {
	return sdktrace.NewTracerProvider(options...).Tracer("sturdy")
}

// ending is readable once the program has been told to end.
func ending() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	return signals
}

func main() {
	commands := map[string]func([]string) error{"work": workCommand, "serve": serveCommand,
		"load": loadCommand, "latency": latencyCommand}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: sturdy work|serve|load|latency [flags]")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "sturdy:", err)
		os.Exit(1)
	}
}
