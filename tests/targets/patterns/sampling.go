// SPDX-License-Identifier: Apache-2.0

// R6: spans that are sampled out, and spans that are recorded for this process alone. What a span's
// name begins with decides (pattern/spans.go).
package main

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"spanprof.test/patterns/pattern"
)

var (
	droppedRoot      = pattern.New(pattern.Unsampled, "dropped-root")
	droppedRootChild = pattern.New(pattern.Unsampled, "dropped-root-child")
	droppedRootAfter = pattern.New(pattern.Unsampled, "dropped-root-after").Least(0)
	droppedAlone     = pattern.New(pattern.Unsampled, "dropped-alone")
	droppedSameTrace = pattern.New(pattern.Unsampled, "dropped-same-trace")
	localRoot        = pattern.New(pattern.Unsampled, "local-root")
	localChild       = pattern.New(pattern.Unsampled, "local-child")
)

// droppedRoots starts a trace of its own inside a span, and that is sampled out. Nothing tells when
// such a span has ended, so the work after it may stay without a tag.
func droppedRoots() {
	ctx, request := tracer.Start(context.Background(), "request")
	_, dropped := tracer.Start(ctx, "dropped", trace.WithNewRoot())
	droppedRoot.Work(unit, pattern.None)
	do(func() { droppedRootChild.Work(unit, pattern.None) })
	dropped.End()
	droppedRootAfter.Work(unit, request.SpanContext(), pattern.None)
	request.End()

	_, dropped = tracer.Start(context.Background(), "dropped")
	droppedAlone.Work(unit, pattern.None)
	dropped.End()
}

func droppedChildren() {
	ctx, request := tracer.Start(context.Background(), "request")
	_, dropped := tracer.Start(ctx, "dropped")
	droppedSameTrace.Work(unit, request.SpanContext())
	dropped.End()
	request.End()
}

func localSpans() {
	ctx, request := tracer.Start(context.Background(), "request")
	_, local := tracer.Start(ctx, "local", trace.WithNewRoot())
	localRoot.Work(unit, local.SpanContext())
	local.End()
	_, local = tracer.Start(ctx, "local")
	localChild.Work(unit, local.SpanContext())
	local.End()
	request.End()
}
