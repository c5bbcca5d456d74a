// SPDX-License-Identifier: Apache-2.0

// Reads the truth file that the truth program wrote and the samples that spanprof wrote.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"spanprof.test/lines"
)

// frame is a frame of the stack a kind of work must show (see truth's kinds.go).
type frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	First    int    `json:"first"`
	Last     int    `json:"last"`
	Call     int    `json:"call"`
}

type kind struct {
	Name  string  `json:"name"`
	Stack []frame `json:"stack"`
	Slot  int     `json:"slot"`
}

// slot is a stretch of work on one thread; span is "" outside spans.
type slot struct {
	Kind   int    `json:"kind"`
	Tid    int32  `json:"tid"`
	Begin  int64  `json:"begin"`
	Finish int64  `json:"finish"`
	CPU    int64  `json:"cpu"`
	Span   string `json:"span"`
	Trace  string `json:"trace"`
}

// span is an issued span; End is zero when it was left open.
type span struct {
	ID    string   `json:"span"`
	Trace string   `json:"trace"`
	Tid   int32    `json:"tid"` // of the thread that started it
	Start [2]int64 `json:"start"`
	End   [2]int64 `json:"end"`
}

type truth struct {
	Pid       int    `json:"pid"`
	Go        string `json:"go"`
	Monotonic int64  `json:"monotonic_ns"`
	Wall      int64  `json:"wall_ns"`
	Kinds     []kind `json:"kinds"`

	slots map[int32][]slot  // by thread, in order of time
	works map[string][]slot // by span, in no order
	spans map[string]span
}

const noSpan, noTrace = "0000000000000000", "00000000000000000000000000000000"

func blank(id string) string {
	if id == noSpan || id == noTrace {
		return ""
	}
	return id
}

func readTruth(r io.Reader) (*truth, error) {
	t := &truth{slots: make(map[int32][]slot), works: make(map[string][]slot),
		spans: make(map[string]span)}
	err := lines.Each(r, func(line []byte) error {
		if t.Kinds == nil {
			return json.Unmarshal(line, t)
		}
		if strings.HasPrefix(string(line), `{"span"`) {
			var s span
			err := json.Unmarshal(line, &s)
			t.spans[s.ID] = s
			return err
		}
		var s slot
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if s.Kind < 0 || s.Kind >= len(t.Kinds) {
			return fmt.Errorf("kind %d is unknown", s.Kind)
		}
		s.Span, s.Trace = blank(s.Span), blank(s.Trace)
		t.slots[s.Tid] = append(t.slots[s.Tid], s)
		if s.Span != "" {
			t.works[s.Span] = append(t.works[s.Span], s)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.spans) == 0 || len(t.slots) == 0 {
		return nil, fmt.Errorf("no spans or no work in it")
	}
	for _, list := range t.slots {
		sort.Slice(list, func(i, j int) bool { return list[i].Begin < list[j].Begin })
	}
	return t, nil
}

// isAtWork tells whether a stretch of work for the span was under way on any thread.
func (t *truth) isAtWork(span string, at int64) bool {
	for _, w := range t.works[span] {
		if w.Begin <= at && at <= w.Finish {
			return true
		}
	}
	return false
}

// location is one frame of a sample.
type location struct {
	function, file string
	line           int
}

// sample is one line of the samples file.
type sample struct {
	Time      int64    `json:"time_ns"`
	Pid       int      `json:"pid"`
	Tid       int32    `json:"tid"`
	Goid      uint64   `json:"goid"`
	Span      string   `json:"span_id"`
	Trace     string   `json:"trace_id"`
	Inherited bool     `json:"inherited"`
	Frames    []string `json:"stack"`
	Ended     *string  `json:"ended_span"` // no sample: a span's end

	stack []location // leaf first, without runtime.goexit
}

// splitFrame takes "function file:line" apart; file and line may be missing.
func splitFrame(text string) location {
	function, rest, _ := strings.Cut(text, " ")
	at := strings.LastIndexByte(rest, ':')
	if at < 0 {
		return location{function: function, file: rest}
	}
	line, err := strconv.Atoi(rest[at+1:])
	if err != nil {
		return location{function: function, file: rest}
	}
	return location{function, rest[:at], line}
}

// readSamples keeps the samples of one process, on the monotonic clock, in order of time.
func readSamples(r io.Reader, t *truth) ([]sample, error) {
	var samples []sample
	err := lines.Each(r, func(line []byte) error {
		var s sample
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if s.Pid != t.Pid || s.Ended != nil {
			return nil
		}
		if s.Time > t.Wall/2 {
			s.Time -= t.Wall - t.Monotonic
		}
		s.Span, s.Trace = blank(s.Span), blank(s.Trace)
		for _, text := range s.Frames {
			if l := splitFrame(text); l.function != "runtime.goexit" {
				s.stack = append(s.stack, l)
			}
		}
		s.Frames = nil
		samples = append(samples, s)
		return nil
	})
	sort.Slice(samples, func(i, j int) bool { return samples[i].Time < samples[j].Time })
	return samples, err
}
