// SPDX-License-Identifier: Apache-2.0

// Package resource has as much of the OpenTelemetry SDK as can be seen from outside: what a service
// says of itself, in memory.
package resource

import "go.opentelemetry.io/otel/attribute"

type Resource struct {
	schemaURL string
	attrs     attribute.Set
}

func New(set attribute.Set) *Resource {
	return &Resource{schemaURL: "none", attrs: set}
}
