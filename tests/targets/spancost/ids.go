// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
	"spanprof.test/spancost/serial"
)

// crowdWorker has the spans of the crowd: its requests have no children.
const crowdWorker = 0xffff

type workerKey struct{}

// generator takes IDs from the worker that the context names; of nobody they are the crowd's.
type generator struct {
	crowd atomic.Uint32
}

func (g *generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s := serial.Serial{Worker: crowdWorker}
	if w, ok := ctx.Value(workerKey{}).(*worker); ok {
		w.current.Request++
		w.current.Child = 0
		s = w.current
	} else {
		s.Request = g.crowd.Add(1)
	}
	return s.TraceID(), s.SpanID()
}

func (g *generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	w := ctx.Value(workerKey{}).(*worker)
	w.current.Child++
	return w.current.SpanID()
}
