// SPDX-License-Identifier: Apache-2.0

// Tracing, set up as the SDK's documentation says; finished requests are printed with their IDs.
package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

var tracer = otel.Tracer("shop")

// printer writes one line for every finished span that has no parent.
type printer struct{}

func (printer) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (printer) Shutdown(context.Context) error                  { return nil }
func (printer) ForceFlush(context.Context) error                { return nil }

func (printer) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.Parent().IsValid() {
		return
	}
	took, unit := span.EndTime().Sub(span.StartTime()), 10*time.Microsecond
	if took >= time.Second {
		unit = 10 * time.Millisecond
	}
	fmt.Printf("span %s trace=%s span=%s %s\n", span.Name(), span.SpanContext().TraceID(),
		span.SpanContext().SpanID(), took.Round(unit))
}

func setUpTracing() (shutdown func(), err error) {
	export, err := exportOptions()
	if err != nil {
		return nil, err
	}
	// Where several shops run, their environment tells them apart.
	named, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", "shop")),
		resource.Environment())
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(append([]sdktrace.TracerProviderOption{
		sdktrace.WithSpanProcessor(printer{}),
		sdktrace.WithResource(named),
	}, export...)...)
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return func() { _ = provider.Shutdown(context.Background()) }, nil
}
