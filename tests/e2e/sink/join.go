// SPDX-License-Identifier: Apache-2.0
// "join DIRECTORY" holds traces and profiles, as a Collector sent them on to the sink, against what
// Grafana needs to get from a span to its profile; "foreign URL" sends a span of another language.

package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	profileIDKey = "pyroscope.profile.id"
	languageKey  = "telemetry.sdk.language"
)

// joined is what was found on both sides; problems are what Grafana would stumble over.
type joined struct {
	spans, marked, foreign int
	services               map[string]bool   // of Go spans
	spanServices           map[string]string // "trace span" → service
	links, found           map[string]bool   // "trace span"
	types                  map[string]int    // profile type → profiles
	resources              map[string]int    // attribute key → resources
	problems               []string
}

func (j *joined) problem(format string, arguments ...any) {
	const enough = 20
	if len(j.problems) < enough {
		j.problems = append(j.problems, fmt.Sprintf(format, arguments...))
	}
}

func textOf(attributes []*common.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

func has(attributes []*common.KeyValue, key string) bool {
	return slices.ContainsFunc(attributes, func(a *common.KeyValue) bool { return a.GetKey() == key })
}

func (j *joined) addTraces(request *tracecollector.ExportTraceServiceRequest) {
	for _, from := range request.GetResourceSpans() {
		attributes := from.GetResource().GetAttributes()
		for _, scope := range from.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				j.addSpan(attributes, span)
			}
		}
	}
}

func (j *joined) addSpan(resource []*common.KeyValue, span *trace.Span) {
	id := hex.EncodeToString(span.GetSpanId())
	if textOf(resource, languageKey) != "go" {
		j.foreign++
		if has(span.GetAttributes(), profileIDKey) {
			j.problem("span %s is not of Go, and has %s", id, profileIDKey)
		}
		return
	}
	j.spans++
	service := textOf(resource, "service.name")
	j.services[service] = true
	j.spanServices[fmt.Sprintf("%x %s", span.GetTraceId(), id)] = service
	if got := textOf(span.GetAttributes(), profileIDKey); got == id {
		j.marked++
	} else {
		j.problem("span %s: %s is %q", id, profileIDKey, got)
	}
}

func (j *joined) addProfiles(request *collector.ExportProfilesServiceRequest) {
	for _, from := range request.GetResourceProfiles() {
		service := j.addResource(from.GetResource())
		for _, scope := range from.GetScopeProfiles() {
			if n := len(scope.GetScope().GetAttributes()); n > 0 {
				j.problem("a scope with %d attributes", n)
			}
			for _, profile := range scope.GetProfiles() {
				j.addProfile(request.GetDictionary(), service, profile)
			}
		}
	}
}

// addResource checks that only what may become a label is there; the service's name.
func (j *joined) addResource(from *resource.Resource) string {
	for _, a := range from.GetAttributes() {
		j.resources[a.GetKey()]++
		if !slices.Contains(allowedLabels, a.GetKey()) {
			j.problem("resource attribute %q of a profile", a.GetKey())
		}
		if _, text := a.GetValue().GetValue().(*common.AnyValue_StringValue); !text {
			j.problem("resource attribute %q of a profile is no text: %v", a.GetKey(), a.GetValue())
		}
	}
	service := textOf(from.GetAttributes(), "service.name")
	if !j.services[service] {
		j.problem("profiles of service %q; traces are of %v", service, j.services)
	}
	return service
}

func (j *joined) addProfile(d *profiles.ProfilesDictionary, service string, p *profiles.Profile) {
	j.types[typeOf(d, p)]++
	for i, sample := range p.GetSamples() {
		// Every attribute but the link would be a label of the sample.
		if n := len(sample.GetAttributeIndices()); n > 0 {
			j.problem("sample %d has %d attributes", i, n)
		}
		if sample.GetLinkIndex() == 0 {
			continue
		}
		link := d.GetLinkTable()[sample.GetLinkIndex()]
		key := fmt.Sprintf("%x %x", link.GetTraceId(), link.GetSpanId())
		j.links[key] = true
		of, found := j.spanServices[key]
		if found {
			j.found[key] = true
		}
		if found && of != service {
			j.problem("span %s is of %q, its profile of %q", key, of, service)
		}
	}
}

// each decodes the files of that pattern into messages.
func each[M proto.Message](pattern string, message func() M, add func(M)) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no files %s", pattern)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m := message()
		if err := proto.Unmarshal(data, m); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		add(m)
	}
	return nil
}

// join prints what it found, in lines that a shell can read, and fails on any problem.
func join(directory string) error {
	j := &joined{services: map[string]bool{}, spanServices: map[string]string{},
		links: map[string]bool{}, found: map[string]bool{}, types: map[string]int{},
		resources: map[string]int{}}
	err := each(filepath.Join(directory, "traces-*.otlp"),
		func() *tracecollector.ExportTraceServiceRequest { return &tracecollector.ExportTraceServiceRequest{} },
		j.addTraces)
	if err != nil {
		return err
	}
	err = each(filepath.Join(directory, "request-*.otlp"),
		func() *collector.ExportProfilesServiceRequest { return &collector.ExportProfilesServiceRequest{} },
		j.addProfiles)
	if err != nil {
		return err
	}
	j.print()
	if len(j.problems) > 0 {
		return fmt.Errorf("%d problems, the first: %s", len(j.problems), j.problems[0])
	}
	return nil
}

func (j *joined) print() {
	fmt.Println("spans", j.spans)
	fmt.Println("marked", j.marked)
	fmt.Println("foreign", j.foreign)
	fmt.Println("linked", len(j.links))
	fmt.Println("found", len(j.found))
	lines := []string{}
	for service := range j.services {
		lines = append(lines, "service "+service)
	}
	for name := range j.types {
		lines = append(lines, "type "+name)
	}
	for key := range j.resources {
		lines = append(lines, "label "+key)
	}
	for key := range j.links {
		if !j.found[key] {
			lines = append(lines, "lost "+key)
		}
	}
	for _, problem := range j.problems {
		lines = append(lines, "problem "+problem)
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

// sendForeign posts a span that no Go SDK made.
func sendForeign(url string) error {
	words := func(key, value string) *common.KeyValue {
		return &common.KeyValue{Key: key,
			Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
	}
	now := uint64(time.Now().UnixNano())
	data, err := proto.Marshal(&tracecollector.ExportTraceServiceRequest{
		ResourceSpans: []*trace.ResourceSpans{{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{
				words("service.name", "billing"), words(languageKey, "python")}},
			ScopeSpans: []*trace.ScopeSpans{{Spans: []*trace.Span{{
				TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), Name: "bill",
				StartTimeUnixNano: now, EndTimeUnixNano: now + 1}}}}}}})
	if err != nil {
		return err
	}
	response, err := http.Post(url, "application/x-protobuf", bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
