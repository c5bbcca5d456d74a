// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"io"
	"sort"

	"go.opentelemetry.io/otel/trace"
	"spanprof.test/spancost/serial"

	"spanprof.test/lines"
)

// The moments of a request: see moment in ../load.go.
const (
	startBegins = iota
	workBegins
	childrenBegin
	childrenEnd
	leafBegins
	leafEnds
	workGoesOn
	endBegins
	endEnds
	idles
	moments
)

type request struct {
	Worker   uint16         `json:"worker"`
	Request  uint32         `json:"request"`
	Children uint16         `json:"children"`
	Lone     bool           `json:"lone"` // a leaf, without anything around it
	Tid      int            `json:"tid"`
	At       [moments]int64 `json:"at"`
}

type identity struct {
	worker  uint16
	request uint32
}

type truth struct {
	Pid       int      `json:"pid"`
	Monotonic int64    `json:"monotonic_ns"` // the same moment on two clocks
	Wall      int64    `json:"wall_ns"`
	Crowd     [2]int64 `json:"crowd"`
	CrowdSize uint32   `json:"of"`

	byThread map[int][]request // in order of time
	byID     map[identity]request
}

// sample is one line of the samples file.
type sample struct {
	Time   int64  `json:"time_ns"`
	Pid    int    `json:"pid"`
	Tid    int    `json:"tid"`
	Span   string `json:"span_id"`
	Trace  string `json:"trace_id"`
	Source string `json:"source"`

	Ended *string `json:"ended_span"` // no sample: a span's end
}

// serial gives what the sample's tag stands for. False: no tag, or one that was never issued.
func (s *sample) serial() (serial.Serial, bool) {
	span, err := trace.SpanIDFromHex(s.Span)
	if err != nil {
		return serial.Serial{}, false
	}
	is := serial.Of(span)
	return is, is.TraceID().String() == s.Trace
}

func readTruth(r io.Reader) (*truth, error) {
	t := &truth{byThread: map[int][]request{}, byID: map[identity]request{}}
	err := lines.Each(r, func(line []byte) error {
		if t.Pid == 0 {
			return json.Unmarshal(line, t)
		}
		var q request
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		t.byThread[q.Tid] = append(t.byThread[q.Tid], q)
		t.byID[identity{q.Worker, q.Request}] = q
		return nil
	})
	if err == nil && len(t.byID) == 0 {
		err = errors.New("no requests in it")
	}
	for _, list := range t.byThread {
		sort.Slice(list, func(i, j int) bool { return list[i].At[0] < list[j].At[0] })
	}
	return t, err
}

// told is what a samples file holds of a process.
type told struct {
	samples []sample
	ends    map[string]int // how often a span's end was told of, by its ID
}

func readTold(r io.Reader, pid int) (told, error) {
	t := told{ends: map[string]int{}}
	err := lines.Each(r, func(line []byte) error {
		var s sample
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		switch {
		case s.Pid != pid:
		case s.Ended != nil:
			t.ends[s.Span]++
		default:
			t.samples = append(t.samples, s)
		}
		return nil
	})
	return t, err
}
