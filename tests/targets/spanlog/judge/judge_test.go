// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

const (
	spansEach = 50
	noParent  = "0000000000000000"
)

var testLimits = limits{told: 0.95, known: 0.99, starts: 0.01, scaled: 0.01, cycles: 10,
	ofName: 10, overall: spansEach}

// run is a service of three phases with the same spans in each, and an agent that told of all.
type run struct {
	service *serviceLog
	told    []told
	said    *verbose
}

func newRun() *run {
	r := &run{service: &serviceLog{spans: map[identity]ended{}}, said: &verbose{
		counters: map[string]int{}}}
	r.service.Phases = []phase{{Name: "warm-up", Seconds: 1}, {Name: "quiet", Seconds: 1},
		{Name: "garbage", Garbage: true, Seconds: 1, Cycles: 20}}
	for p := range r.service.Phases {
		r.service.Phases[p].Started = spansEach
		for i := range spansEach {
			e := ended{identity: identity{fmt.Sprint("trace", p), fmt.Sprint("span", p, i)},
				Parent: noParent, Start: int64(i), End: int64(2 * i), Phase: p,
				Name: []string{"a", "b", "built #1"}[i%3], Kind: 1}
			r.service.spans[e.identity] = e
			r.told = append(r.told, told{identity: e.identity, Name: e.Name, Start: e.Start,
				Duration: e.End - e.Start, Kind: 1, Parent: e.Parent})
		}
	}
	r.said.told, r.said.started = len(r.told), len(r.told)
	return r
}

// lose takes these lines away.
func (r *run) lose(those func(i int, t told) bool) {
	var kept []told
	for i, t := range r.told {
		if !those(i, t) {
			kept = append(kept, t)
		}
	}
	r.told = kept
	r.said.told = len(kept)
}

// loses gives a run in which the lines from first up to last are missing.
func loses(first, last int) func(r *run) {
	return func(r *run) { r.lose(func(i int, _ told) bool { return i >= first && i <= last }) }
}

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		change func(r *run)
		right  bool
	}{
		"all":        {func(*run) {}, true},
		"no name":    {func(r *run) { r.told[2].Name = "" }, true},
		"not begun":  {loses(0, 49), true},
		"collected":  {loses(121, 149), true},
		"too few":    {loses(50, 53), false},
		"of a name":  {loses(50, 50), false},
		"again":      {func(r *run) { r.told = append(r.told, r.told[0]) }, false},
		"unknown":    {func(r *run) { r.told[0].Span = "other" }, false},
		"trace":      {func(r *run) { r.told[0].Trace = "other" }, false},
		"name":       {func(r *run) { r.told[0].Name = "other" }, false},
		"unnamed":    {func(r *run) { r.told[0].Name = "" }, false},
		"built name": {func(r *run) { r.told[2].Name = "built #2" }, false},
		"start":      {func(r *run) { r.told[0].Start++ }, false},
		"duration":   {func(r *run) { r.told[0].Duration++ }, false},
		"parent":     {func(r *run) { r.told[0].Parent = "other" }, false},
		"status":     {func(r *run) { r.told[0].Status++ }, false},
		"kind":       {func(r *run) { r.told[0].Kind++ }, false},
		"uncounted":  {func(r *run) { r.said.told -= 2 }, false},
		"still open": {func(r *run) { r.said.open++ }, false},
		"starts":     {func(r *run) { r.said.started += 3 }, false},
		"full":       {func(r *run) { r.said.counters[fullCounter] = 1 }, false},
		"collection": {func(r *run) { r.service.Phases[1].Cycles++ }, false},
		"idle":       {func(r *run) { r.service.Phases[2].Cycles = 9 }, false},
		"not ended":  {func(r *run) { r.service.Phases[1].Started++ }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRun()
			test.change(r)
			var text strings.Builder
			if judge(r.service, r.told, r.said, testLimits, &text) != test.right {
				t.Errorf("judged wrongly:\n%s", text.String())
			}
		})
	}
}

func TestEndBeforeStart(t *testing.T) {
	r := newRun()
	id := r.told[5].identity
	e := r.service.spans[id]
	e.End = e.Start - 7
	r.service.spans[id] = e
	r.told[5].Duration = 0
	if !judge(r.service, r.told, r.said, testLimits, io.Discard) {
		t.Error("no time at all is right for a span that ended before its start")
	}
}

func TestReadVerbose(t *testing.T) {
	v, err := readVerbose(strings.NewReader("spanprof: attached to it: 3\n" +
		"spanprof: warning: " + fullCounter + ": 12 times\n" +
		"spanprof: debug: spans read after their end: 5 of 9 started, 1 still open, 2 without a " +
		"name that is sure\n"))
	if err != nil || v.told != 5 || v.started != 9 || v.open != 1 || v.unsure != 2 ||
		len(v.counters) != 1 || v.counters[fullCounter] != 12 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := readVerbose(strings.NewReader("spanprof: debug: samples: 3\n")); err == nil {
		t.Error("a text without the count was read")
	}
}

func TestReadTold(t *testing.T) {
	all, err := readTold(strings.NewReader(`{"time_ns":1,"pid":7,"span_id":"01"}
{"ended_span":"","pid":7,"start_ns":5,"duration_ns":6,"status":1,"kind":2,`+
		`"trace_id":"t","span_id":"s","parent_id":"p"}
{"ended_span":"x","pid":8}
`), 7)
	want := told{identity{"t", "s"}, "", 7, 5, 6, 1, 2, "p"}
	if err != nil || len(all) != 1 || all[0] != want {
		t.Errorf("%+v, %v", all, err)
	}
}
