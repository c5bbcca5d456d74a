// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/google/pprof/profile"

	"spanprof.test/lines"
)

type kind struct {
	Name  string  `json:"name"`
	Rule  string  `json:"rule"`
	Least float64 `json:"least"`
}

// tag is a span as samples name it; empty for none. With a span but no trace, any trace is right.
type tag struct {
	Span  string `json:"span"`
	Trace string `json:"trace"`
}

// slot is a stretch of work on one thread.
type slot struct {
	Kind   int   `json:"kind"`
	Tid    int32 `json:"tid"`
	Begin  int64 `json:"begin"`
	Finish int64 `json:"finish"`
	CPU    int64 `json:"cpu"`
	Right  []tag `json:"right"`
}

// span is what the SDK recorded; End is 0 when it is still open.
type span struct {
	tag
	Start   int64  `json:"start"`
	End     int64  `json:"end"`
	Sampled bool   `json:"sampled"`
	Name    string `json:"name"`
}

type truth struct {
	Pid       int    `json:"pid"`
	Go        string `json:"go"`
	Monotonic int64  `json:"monotonic_ns"`
	Wall      int64  `json:"wall_ns"`
	Kinds     []kind `json:"kinds"`

	slots map[int32][]slot // by thread, in order of time
	spans map[string]span
	right map[string]bool // every ID that is right somewhere
}

// clean makes IDs of zeros empty.
func (t *tag) clean() {
	if strings.Trim(t.Span, "0") == "" {
		t.Span = ""
	}
	if strings.Trim(t.Trace, "0") == "" {
		t.Trace = ""
	}
}

func (t tag) accepts(got tag) bool {
	return t == got || t.Span != "" && t.Trace == "" && t.Span == got.Span
}

func readTruth(r io.Reader) (*truth, error) {
	t := &truth{slots: map[int32][]slot{}, spans: map[string]span{}, right: map[string]bool{}}
	err := lines.Each(r, func(line []byte) error {
		if t.Kinds == nil {
			return json.Unmarshal(line, t)
		}
		if strings.HasPrefix(string(line), `{"span"`) {
			var s span
			err := json.Unmarshal(line, &s)
			t.spans[s.Span] = s
			return err
		}
		var s slot
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if s.Kind < 0 || s.Kind >= len(t.Kinds) || len(s.Right) == 0 {
			return errors.New("not a stretch of work")
		}
		for i := range s.Right {
			s.Right[i].clean()
			t.right[s.Right[i].Span] = true
		}
		t.slots[s.Tid] = append(t.slots[s.Tid], s)
		return nil
	})
	if err == nil && (len(t.spans) == 0 || len(t.slots) == 0) {
		err = errors.New("no spans or no work in it")
	}
	for _, list := range t.slots {
		sort.Slice(list, func(i, j int) bool { return list[i].Begin < list[j].Begin })
	}
	return t, err
}

// sample is one line of the samples file.
type sample struct {
	Time   int64    `json:"time_ns"`
	Pid    int      `json:"pid"`
	Tid    int32    `json:"tid"`
	Goid   uint64   `json:"goid"`
	Span   string   `json:"span_id"`
	Trace  string   `json:"trace_id"`
	Stack  []string `json:"stack"`
	Source string   `json:"source"`
	Ended  *string  `json:"ended_span"` // no sample: a span's end
}

func (s *sample) tag() tag {
	got := tag{s.Span, s.Trace}
	got.clean()
	return got
}

func (s *sample) leaf() string {
	if len(s.Stack) == 0 {
		return "an unknown function"
	}
	function, _, _ := strings.Cut(s.Stack[0], " ")
	return function
}

func readSamples(r io.Reader) ([]sample, error) {
	var samples []sample
	err := lines.Each(r, func(line []byte) error {
		var s sample
		if err := json.Unmarshal(line, &s); err != nil || s.Ended != nil {
			return err
		}
		samples = append(samples, s)
		return nil
	})
	return samples, err
}

// readLinks gives the span IDs that were linked.
func readLinks(r io.Reader) (map[string]bool, error) {
	links := map[string]bool{}
	err := lines.Each(r, func(line []byte) error {
		if words := strings.Fields(string(line)); len(words) == 4 && words[0] == "link" {
			links[words[2]] = true
		}
		return nil
	})
	return links, err
}

// readNames gives the names by span ID.
func readNames(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	names := map[string]string{}
	for _, s := range p.Sample {
		if ids := s.Label["span_id"]; len(ids) == 1 {
			names[ids[0]] = strings.Join(s.Label["span_name"], ",")
		}
	}
	return names, nil
}
