// SPDX-License-Identifier: Apache-2.0

//go:build !otlp

// Without the build tag otlp spans stay within the process: most tests need no exporter.
package main

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

func exportOptions() ([]sdktrace.TracerProviderOption, error) { return nil, nil }
