// SPDX-License-Identifier: Apache-2.0
// What Pyroscope 2.2.1 makes of a request: the name of a profile's type and the labels that its
// resource becomes. A transcript of its rules (pkg/ingester/otlp), for it cannot be run here.

package main

import (
	"fmt"

	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

// The resource attributes that deploy/observability lets through to Pyroscope.
var allowedLabels = []string{
	"service.name",
	"service.namespace",
	"service.version",
	"deployment.environment",
	"deployment.environment.name",
	"k8s.cluster.name",
	"k8s.namespace.name",
	"k8s.deployment.name",
}

// profileTypeID is how queries name profiles of these types: name, sample type and unit, period type
// and unit. Without a period the last two are empty, whatever the period's type is.
func profileTypeID(sample, unit, period, periodUnit string, hasPeriod bool) string {
	if !hasPeriod {
		period, periodUnit = "", ""
	}
	name := period
	switch fmt.Sprintf("%s:%s:%s:%s", sample, unit, period, periodUnit) {
	case "samples:count:cpu:nanoseconds":
		name, sample, unit = "process_cpu", "cpu", "nanoseconds"
	case "off_cpu:nanoseconds::":
		name = "off_cpu"
	}
	return fmt.Sprintf("%s:%s:%s:%s:%s", name, sample, unit, period, periodUnit)
}

func typeOf(d *profiles.ProfilesDictionary, p *profiles.Profile) string {
	word := func(index int32) string { return d.GetStringTable()[index] }
	sample, period := p.GetSampleType(), p.GetPeriodType()
	return profileTypeID(word(sample.GetTypeStrindex()), word(sample.GetUnitStrindex()),
		word(period.GetTypeStrindex()), word(period.GetUnitStrindex()), p.GetPeriod() != 0)
}
