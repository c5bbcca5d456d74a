// SPDX-License-Identifier: Apache-2.0
// join itself: what belongs together passes, and everything that Grafana would stumble over is told.

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func attribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: text(value)}
}

// marked is a trace with the span that good() has samples of.
func marked() *tracecollector.ExportTraceServiceRequest {
	return &tracecollector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{
			attribute("service.name", "shop"), attribute("telemetry.sdk.language", "go")}},
		ScopeSpans: []*trace.ScopeSpans{{Spans: []*trace.Span{{
			TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"),
			Attributes: []*common.KeyValue{attribute("pyroscope.profile.id", "3031323334353637")},
		}}}},
	}}}
}

// linked is good() without the sample's attribute, which would become a label.
func linked() *collector.ExportProfilesServiceRequest {
	request := good()
	request.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0].AttributeIndices = nil
	return request
}

func joinBoth(t *testing.T, traces, profiles proto.Message) error {
	t.Helper()
	directory := t.TempDir()
	for name, m := range map[string]proto.Message{
		"traces-0001.otlp": traces, "request-0001.otlp": profiles} {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return join(directory)
}

func TestJoin(t *testing.T) {
	if err := joinBoth(t, marked(), linked()); err != nil {
		t.Error(err)
	}
	type traces = *tracecollector.ExportTraceServiceRequest
	type profiles = *collector.ExportProfilesServiceRequest
	for want, damage := range map[string]func(traces, profiles){
		`pyroscope.profile.id is ""`: func(s traces, _ profiles) {
			s.ResourceSpans[0].ScopeSpans[0].Spans[0].Attributes = nil
		},
		`pyroscope.profile.id is "01234567"`: func(s traces, _ profiles) {
			s.ResourceSpans[0].ScopeSpans[0].Spans[0].Attributes[0].Value = text("01234567")
		},
		"is not of Go": func(s traces, _ profiles) {
			s.ResourceSpans[0].Resource.Attributes[1].Value = text("java")
		},
		`profiles of service "other"`: func(_ traces, p profiles) {
			p.ResourceProfiles[0].Resource.Attributes[0].Value = text("other")
		},
		`resource attribute "host.name"`: func(_ traces, p profiles) {
			from := p.ResourceProfiles[0].Resource
			from.Attributes = append(from.Attributes, attribute("host.name", "here"))
		},
		"is no text": func(_ traces, p profiles) {
			from := p.ResourceProfiles[0].Resource
			from.Attributes = append(from.Attributes, &common.KeyValue{Key: "service.version",
				Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 7}}})
		},
		"sample 0 has 1 attributes": func(_ traces, p profiles) {
			p.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0].AttributeIndices = []int32{1}
		},
		"a scope with 1 attributes": func(_ traces, p profiles) {
			p.ResourceProfiles[0].ScopeProfiles[0].Scope.Attributes = []*common.KeyValue{attribute("a", "b")}
		},
	} {
		s, p := marked(), linked()
		damage(s, p)
		if err := joinBoth(t, s, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}
