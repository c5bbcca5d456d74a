// SPDX-License-Identifier: Apache-2.0

// patterns-oldgrpc: gRPC 1.59, the last whose connection readers start the spans of the server and,
// within them, the goroutines of the handlers.
package main

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"spanprof.test/patterns/pattern"
	"spanprof.test/patterns/rpc"
)

func main() {
	otel.SetTracerProvider(pattern.NewProvider())
	otel.SetTextMapPropagator(propagation.TraceContext{})
	pattern.Main(pattern.Program{
		Make: []func() pattern.Scenario{rpc.New("oldgrpc", grpc.Dial, rpc.TaggedByReader)},
	})
}
