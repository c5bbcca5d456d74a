// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"

	"spanprof.test/lines"
)

type phase struct {
	Name    string  `json:"name"`
	Garbage bool    `json:"garbage"`
	Seconds float64 `json:"seconds"`
	Cycles  int     `json:"gc_cycles"`
	Started int     `json:"started"`
}

// identity is what tells a span from all others.
type identity struct {
	Trace string `json:"trace_id"`
	Span  string `json:"span_id"`
}

// ended is a line of the service's log.
type ended struct {
	identity
	Parent string `json:"parent_id"`
	Start  int64  `json:"start_ns"`
	End    int64  `json:"end_ns"`
	Name   string `json:"name"`
	Status int    `json:"status"`
	Kind   int    `json:"kind"`
	Phase  int    `json:"phase"`
}

type serviceLog struct {
	Pid    int     `json:"pid"`
	Go     string  `json:"go"`
	Phases []phase `json:"phases"` // the first one is the warm-up, before and during the attach

	spans map[identity]ended
}

// told is a line of spanprof's about a span's end.
type told struct {
	identity
	Name     string `json:"ended_span"`
	Pid      int    `json:"pid"`
	Start    int64  `json:"start_ns"`
	Duration int64  `json:"duration_ns"`
	Status   int    `json:"status"`
	Kind     int    `json:"kind"`
	Parent   string `json:"parent_id"`
}

func readLog(r io.Reader) (*serviceLog, error) {
	l := &serviceLog{spans: map[identity]ended{}}
	err := lines.Each(r, func(line []byte) error {
		if l.Phases == nil {
			return json.Unmarshal(line, l)
		}
		var e ended
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if _, known := l.spans[e.identity]; known || e.Phase < 0 || e.Phase >= len(l.Phases) {
			return errors.New("a span that was there before, or of no phase")
		}
		l.spans[e.identity] = e
		return nil
	})
	if err == nil && len(l.spans) == 0 {
		err = errors.New("no spans in it")
	}
	return l, err
}

// readTold keeps the ends that were told of one process. Samples are no ends.
func readTold(r io.Reader, pid int) ([]told, error) {
	var all []told
	err := lines.Each(r, func(line []byte) error {
		var is struct {
			End *string `json:"ended_span"`
		}
		var t told
		if err := json.Unmarshal(line, &is); err != nil || is.End == nil {
			return err
		}
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		if t.Pid == pid {
			all = append(all, t)
		}
		return nil
	})
	return all, err
}

// verbose is what spanprof said at its end.
type verbose struct {
	started, told, open, unsure int
	counters                    map[string]int // "words: number times", by the words
}

var toldLine = regexp.MustCompile(`spans read after their end: (\d+) of (\d+) started, ` +
	`(\d+) still open, (\d+) without a name that is sure$`)
var counterLine = regexp.MustCompile(`^spanprof: warning: (.*): (\d+) times$`)

func readVerbose(r io.Reader) (*verbose, error) {
	v, found := &verbose{counters: map[string]int{}}, false
	err := lines.Each(r, func(line []byte) error {
		if m := toldLine.FindSubmatch(line); m != nil {
			found = true
			for i, to := range []*int{&v.told, &v.started, &v.open, &v.unsure} {
				*to, _ = strconv.Atoi(string(m[i+1])) // digits, as the expression has it
			}
		}
		if m := counterLine.FindSubmatch(line); m != nil {
			v.counters[string(m[1])], _ = strconv.Atoi(string(m[2]))
		}
		return nil
	})
	if err == nil && !found {
		err = errors.New("no line like " + toldLine.String())
	}
	return v, err
}
