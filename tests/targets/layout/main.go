// SPDX-License-Identifier: Apache-2.0

// Layout is a service that prints, by reflection, where the SDK's span keeps its fields, and
// checks the thread-local offset of g that it is given.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"reflect"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func field(t reflect.Type, key, name string) {
	f, ok := t.FieldByName(name)
	if !ok {
		fmt.Fprintf(os.Stderr, "layout: %v has no field %s\n", t, name)
		os.Exit(1)
	}
	fmt.Printf("span.%s=%d\n", key, f.Offset)
}

func main() {
	tls := flag.Int("tls", 0, "check this offset of g from the thread pointer")
	flag.Parse()
	if *tls != 0 {
		if err := checkTLS(*tls); err != nil {
			fmt.Fprintln(os.Stderr, "layout:", err)
			os.Exit(1)
		}
		fmt.Println("tls=right")
		return
	}
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.AlwaysSample()))
	_, span := provider.Tracer("layout").Start(context.Background(), "span")
	recording := reflect.TypeOf(span).Elem()
	field(recording, "context", "spanContext")
	field(recording, "end_time", "endTime")
	field(recording, "name", "name")
	context := reflect.TypeOf(trace.SpanContext{})
	field(context, "context_trace_id", "traceID")
	field(context, "context_span_id", "spanID")
	field(context, "context_flags", "traceFlags")
	span.End()
}
