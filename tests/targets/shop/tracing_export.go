// SPDX-License-Identifier: Apache-2.0

//go:build otlp

// With the build tag otlp finished spans also go where OTEL_EXPORTER_OTLP_ENDPOINT says, and tell
// their SDK, as those of services do that keep the SDK's own resource.
package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func exportOptions() ([]sdktrace.TracerProviderOption, error) {
	exporter, err := otlptracehttp.New(context.Background())
	if err != nil {
		return nil, err
	}
	whole, err := resource.Merge(resource.Default(),
		resource.NewSchemaless(attribute.String("service.name", "shop")))
	if err != nil {
		return nil, err
	}
	return []sdktrace.TracerProviderOption{
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(whole)}, nil
}
