// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// record is an ended span as an exporter would send it.
type record struct {
	trace        trace.TraceID
	span, parent trace.SpanID
	start, end   int64 // ns since 1970
	name         string
	status       uint32
	kind         trace.SpanKind
	phase        int
}

// log has a size set at start: nothing grows while spans are read.
type log struct {
	lock    sync.Mutex
	records []record
	dropped int
}

func newLog(size int) *log { return &log{records: make([]record, 0, size)} }

func (l *log) add(r record) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if len(l.records) == cap(l.records) {
		l.dropped++
		return
	}
	l.records = append(l.records, r)
}

func (l *log) count() int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return len(l.records)
}

// exporter is that of one phase.
type exporter struct {
	log   *log
	phase int
}

func (e exporter) ExportSpans(_ context.Context, ended []sdktrace.ReadOnlySpan) error {
	for _, s := range ended {
		e.log.add(record{
			trace:  s.SpanContext().TraceID(),
			span:   s.SpanContext().SpanID(),
			parent: s.Parent().SpanID(),
			start:  s.StartTime().UnixNano(),
			end:    s.EndTime().UnixNano(),
			name:   s.Name(),
			status: uint32(s.Status().Code),
			kind:   s.SpanKind(),
			phase:  e.phase,
		})
	}
	return nil
}

func (exporter) Shutdown(context.Context) error { return nil }

// header is the first line of the file.
type header struct {
	Pid    int     `json:"pid"`
	Go     string  `json:"go"`
	Phases []phase `json:"phases"`
}

func (l *log) write(path string, phases []phase) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.dropped > 0 {
		return fmt.Errorf("%d records did not fit", l.dropped)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	line, err := json.Marshal(header{os.Getpid(), runtime.Version(), phases})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", line)
	for _, r := range l.records {
		fmt.Fprintf(out, `{"trace_id":"%s","span_id":"%s","parent_id":"%s","start_ns":%d,`+
			`"end_ns":%d,"name":%q,"status":%d,"kind":%d,"phase":%d}`+"\n", r.trace, r.span,
			r.parent, r.start, r.end, r.name, r.status, r.kind, r.phase)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
