// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
)

const (
	spanA, traceA = "00000000000000a1", "000000000000000000000000000000aa"
	spanB, traceB = "00000000000000b1", "000000000000000000000000000000bb"
	foreign       = "00000000000000f1"
	zeros         = "0000000000000000"
	period        = 1e6
)

// known: span A works on thread 7 from 10 to 110 ms, nobody from 120 to 220 ms, span B on thread 8
// from 10 to 110 ms, a label from 120 to 220 ms. B was recorded for the process alone.
func known(t *testing.T) *truth {
	t.Helper()
	lines := []string{
		`{"pid":42,"go":"go1.26.8","monotonic_ns":1000,"wall_ns":1700000000000001000,"kinds":[` +
			`{"name":"own","rule":"R1","least":0.999},{"name":"idle","rule":"R4","least":0.9},` +
			`{"name":"local","rule":"R1","least":0.999},` +
			`{"name":"label","rule":"R5","least":0.9}]}`,
		`{"span":"` + spanA + `","trace":"` + traceA + `","start":9000000,"end":111000000,` +
			`"sampled":true,"name":"last"}`,
		`{"span":"` + spanB + `","trace":"` + traceB + `","start":9000000,"end":0,` +
			`"sampled":false,"name":""}`,
		slotLine(0, 7, 10, spanA, traceA), slotLine(1, 7, 120, zeros, zeros+zeros),
		slotLine(2, 8, 10, spanB, traceB), slotLine(3, 8, 120, foreign, zeros+zeros),
	}
	k, err := readTruth(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func slotLine(kind, tid, begin int, span, trace string) string {
	return fmt.Sprintf(`{"kind":%d,"tid":%d,"begin":%d000000,"finish":%d000000,"cpu":100000000,`+
		`"right":[{"span":"%s","trace":"%s"}]}`, kind, tid, begin, begin+100, span, trace)
}

// samples takes one each millisecond on both threads, without an error.
func samples() []sample {
	var all []sample
	for ms := int64(1); ms <= 230; ms++ {
		first := sample{Time: ms*1e6 + 500, Pid: 42, Tid: 7, Goid: 3,
			Stack: []string{"x.spin /s/c.go:1", "x.Work /s/c.go:5"}}
		second := first
		second.Tid = 8
		switch {
		case ms >= 10 && ms < 110:
			first.Span, first.Trace = spanA, traceA
			second.Span, second.Trace = spanB, traceB
		case ms >= 120 && ms < 220:
			second.Span = foreign
		}
		all = append(all, first, second)
	}
	return all
}

// judged gives what is found after the sample at that millisecond and thread was changed.
func judged(t *testing.T, ms int, tid int32, change func(*sample)) *verdict {
	t.Helper()
	list := samples()
	for i := range list {
		if list[i].Time == int64(ms)*1e6+500 && list[i].Tid == tid {
			change(&list[i])
		}
	}
	k := known(t)
	v := match(k, list)
	v.check(k, 100)
	v.checkTurns(k, period)
	return v
}

func TestAllRight(t *testing.T) {
	v := judged(t, 0, 0, nil)
	for i, c := range v.kinds {
		if c != (tally{samples: 100, right: 100}) {
			t.Errorf("kind %d: %+v", i, c)
		}
	}
	if v.failed || v.stale != 0 {
		t.Errorf("%+v", v)
	}
}

func TestOneWrongTagFails(t *testing.T) {
	set := func(span, trace string) func(*sample) {
		return func(s *sample) { s.Span, s.Trace = span, trace }
	}
	for _, c := range []struct {
		name   string
		ms     int
		tid    int32
		change func(*sample)
		failed bool
	}{
		{"another's", 50, 7, set(spanB, traceB), true},
		{"another trace", 50, 7, set(spanA, traceB), true},
		{"nobody's", 50, 7, set("00000000000000c1", traceA), true},
		{"where none is due", 150, 7, set(spanB, traceB), true},
		{"a single one missing", 50, 7, set("", ""), false},
		{"zeros are none", 150, 7, set(zeros, zeros+zeros), false},
		{"between, ended", 115, 7, set(spanA, traceA), true},
		{"between, nobody's", 115, 7, set("00000000000000c1", traceA), true},
		{"between, open", 115, 7, set(spanB, traceB), false},
		{"label with a trace", 150, 8, set(foreign, traceA), false},
	} {
		if v := judged(t, c.ms, c.tid, c.change); v.failed != c.failed {
			t.Errorf("%s: failed %v: %v", c.name, v.failed, v.reasons)
		}
	}
}

func TestTooFewRight(t *testing.T) {
	list := samples()
	for i := range list {
		// Two of R1's and eleven of R5's; R4's idle has no tags to lose.
		ms := list[i].Time / 1e6
		if list[i].Tid == 7 && ms >= 50 && ms < 52 || list[i].Tid == 8 && ms >= 150 && ms < 161 {
			list[i].Span, list[i].Trace = "", ""
		}
	}
	k := known(t)
	v := match(k, list)
	for i, want := range []string{"MISSED", "", "", "MISSED"} {
		if got := v.kinds[i].fault(&k.Kinds[i], 100); got != want {
			t.Errorf("%s: %q", k.Kinds[i].Name, got)
		}
	}
	if got := v.kinds[1].fault(&k.Kinds[1], 101); got != "FEW" {
		t.Errorf("100 of 101: %q", got)
	}
}

// inTurns is a truth in which A and B take ten turns of 10 ms each, `run` of one after another, and
// its samples.
func inTurns(t *testing.T, run int) (*truth, []sample) {
	t.Helper()
	k := known(t)
	k.Kinds = append(k.Kinds, kind{"alternate-x", "R1", 0.999})
	tags := []tag{{spanA, traceA}, {spanB, traceB}}
	var list []sample
	for turn := range 20 {
		right := tags[turn/run%2]
		begin := int64(300+10*turn) * 1e6
		k.slots[9] = append(k.slots[9], slot{len(k.Kinds) - 1, 9, begin, begin + 1e7 - 1, 1e7,
			[]tag{right}})
		for ms := range int64(10) {
			list = append(list, sample{Time: begin + ms*1e6, Pid: 42, Tid: 9, Goid: 3,
				Span: right.Span, Trace: right.Trace,
				Stack: []string{"x.spin /s/c.go:1", "x.Work /s/c.go:5"}})
		}
	}
	return k, list
}

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name   string
		run    int
		change func(*verdict)
		failed bool
	}{
		{"right", 1, func(*verdict) {}, false},
		{"no turns", 2, func(*verdict) {}, true},
		{"41 of 100 ms too much", 1, func(v *verdict) { v.perSpan[spanB] = 141 }, true},
		{"39 of 100 ms too much", 1, func(v *verdict) { v.perSpan[spanB] = 139 }, false},
		{"no stack", 1, func(v *verdict) { delete(v.stacks, spanB) }, true},
		{"other stacks", 1, func(v *verdict) {
			v.stacks[spanB] = map[string]int{"x.spin": 70, "x.Work x.spin": 30}
		}, true},
	} {
		k, list := inTurns(t, c.run)
		v := match(k, list)
		c.change(v)
		if v.checkTurns(k, period); v.failed != c.failed {
			t.Errorf("%s: failed %v", c.name, v.failed)
		}
	}
}

func TestNamesAndLinks(t *testing.T) {
	k := known(t)
	k.Kinds[0].Name = "renamed-after"
	for _, c := range []struct {
		name   string
		last   string
		links  map[string]bool
		failed bool
	}{
		{"right", "last", map[string]bool{spanA: true}, false},
		{"first name", "first", map[string]bool{spanA: true}, true},
		{"no link", "last", map[string]bool{}, true},
		{"a local span's link", "last", map[string]bool{spanA: true, spanB: true}, true},
	} {
		v := match(k, samples())
		v.checkNames(k, map[string]string{spanA: c.last})
		v.checkLinks(k, c.links)
		if v.failed != c.failed {
			t.Errorf("%s: failed %v", c.name, v.failed)
		}
	}
}
