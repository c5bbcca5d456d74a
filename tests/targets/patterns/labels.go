// SPDX-License-Identifier: Apache-2.0

// R5: profiler labels that other tools have put on a goroutine.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"runtime/pprof"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"spanprof.test/patterns/pattern"
)

var (
	labelHex     = pattern.New(pattern.Labels, "label-hex")
	labelDecimal = pattern.New(pattern.Labels, "label-decimal")
	labelBeside  = pattern.New(pattern.Own, "label-beside-own")
	labelForeign = pattern.New(pattern.Labels, "label-foreign")
)

// foreignSpan is a span that no SDK of this process knows.
func foreignSpan() trace.SpanContext {
	var config trace.SpanContextConfig
	rand.Read(config.TraceID[:])
	rand.Read(config.SpanID[:])
	return trace.NewSpanContext(config)
}

// decimal is how dd-trace-go writes a span ID.
func decimal(span trace.SpanContext) string {
	id := span.SpanID()
	return strconv.FormatUint(binary.BigEndian.Uint64(id[:]), 10)
}

// labelled does the work under labels, on a goroutine without a span.
func labelled(kind *pattern.Kind, right trace.SpanContext, keysAndValues ...string) {
	do(func() {
		pprof.Do(context.Background(), pprof.Labels(keysAndValues...), func(context.Context) {
			kind.Work(unit, right)
		})
	})
}

func labels() {
	span := foreignSpan()
	labelled(labelHex, span, "span_id", span.SpanID().String(), "span_name", "checkout",
		"trace_id", span.TraceID().String())
	// These labels name no trace.
	span, root := foreignSpan().WithTraceID(trace.TraceID{}), foreignSpan()
	labelled(labelDecimal, span, "local root span id", decimal(root), "span id", decimal(span),
		"trace endpoint", "GET /checkout")
	labelled(labelForeign, pattern.None, "route", "/checkout", "tenant", "span_id")

	span = foreignSpan()
	pprof.Do(context.Background(), pprof.Labels("span_id", span.SpanID().String(), "trace_id",
		span.TraceID().String()), func(ctx context.Context) {
		_, own := tracer.Start(ctx, "own")
		labelBeside.Work(unit, own.SpanContext())
		own.End()
	})
}

// startLabelled parks a goroutine with labels. What it returns tells whether they are still there.
func startLabelled() func() error {
	ready := make(chan struct{})
	go pprof.Do(context.Background(), pprof.Labels("route", "/kept", "tenant", "a"),
		func(context.Context) {
			close(ready)
			select {}
		})
	<-ready
	return func() error {
		var text bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
			return err
		}
		if !strings.Contains(text.String(), `labels: {"route":"/kept", "tenant":"a"}`) {
			return errors.New("the program's own profiler labels are gone")
		}
		return nil
	}
}
