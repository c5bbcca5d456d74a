// SPDX-License-Identifier: Apache-2.0

// IDs that depend on nothing but the seed, and spans in an order that depends on nothing at all.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// mix is a step of splitmix64.
func mix(a, b uint64) uint64 {
	x := a + 0x9e3779b97f4a7c15*(b+1)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// sequence is the IDs of the spans that one goroutine starts.
type sequence struct {
	seed, next uint64
}

type sequenceKey struct{}

// withSequence is for each new goroutine: which of two starts its span first is a matter of chance.
func withSequence(ctx context.Context, seed uint64) context.Context {
	return context.WithValue(ctx, sequenceKey{}, &sequence{seed: seed})
}

func (s *sequence) word() uint64 {
	s.next++
	return mix(s.seed, s.next)
}

// sequenceIDs takes IDs from the sequence in the context.
type sequenceIDs struct{}

func (sequenceIDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	s := ctx.Value(sequenceKey{}).(*sequence)
	binary.BigEndian.PutUint64(id[:8], s.word())
	binary.BigEndian.PutUint64(id[8:], s.word())
	binary.BigEndian.PutUint64(span[:], s.word())
	return id, span
}

func (sequenceIDs) NewSpanID(ctx context.Context, _ trace.TraceID) (span trace.SpanID) {
	binary.BigEndian.PutUint64(span[:], ctx.Value(sequenceKey{}).(*sequence).word())
	return span
}

// byName samples out what says so.
type byName struct{}

func (byName) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if strings.HasPrefix(p.Name, "dropped") {
		return sdktrace.SamplingResult{Decision: sdktrace.Drop}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (byName) Description() string { return "by name" }

// exporter writes all that is known of a span but its times.
type exporter struct {
	lock  sync.Mutex
	lines []string // of the round under way
	count int
	file  *os.File
	out   *bufio.Writer
}

func newExporter(path string) (*exporter, error) {
	if path == "" {
		path = os.DevNull
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &exporter{file: file, out: bufio.NewWriter(file)}, nil
}

func (e *exporter) ExportSpans(_ context.Context, ended []sdktrace.ReadOnlySpan) error {
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, span := range ended {
		e.lines = append(e.lines, describe(span))
	}
	return nil
}

func describe(span sdktrace.ReadOnlySpan) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s parent %s %q kind %s status %s %q", span.SpanContext().TraceID(),
		span.SpanContext().SpanID(), span.Parent().SpanID(), span.Name(), span.SpanKind(),
		span.Status().Code, span.Status().Description)
	for _, a := range span.Attributes() {
		fmt.Fprintf(&text, " %s=%s", a.Key, a.Value.Emit())
	}
	for _, event := range span.Events() {
		fmt.Fprintf(&text, " event %s", event.Name)
		for _, a := range event.Attributes {
			fmt.Fprintf(&text, " %s=%q", a.Key, a.Value.Emit())
		}
	}
	if !span.EndTime().After(span.StartTime()) {
		text.WriteString(" ends before it starts")
	}
	fmt.Fprintf(&text, " dropped %d %d children %d", span.DroppedAttributes(), span.DroppedEvents(),
		span.ChildSpanCount())
	return text.String()
}

func (e *exporter) Shutdown(context.Context) error { return nil }

// take writes the round's spans and gives their hash. All have ended.
func (e *exporter) take(round int) (uint64, error) {
	e.lock.Lock()
	defer e.lock.Unlock()
	slices.Sort(e.lines)
	hash := fnv.New64a()
	for _, line := range e.lines {
		fmt.Fprintln(hash, line)
		fmt.Fprintln(e.out, round, line)
	}
	e.count += len(e.lines)
	e.lines = e.lines[:0]
	return hash.Sum64(), e.out.Flush()
}

func (e *exporter) close() error { return e.file.Close() }
