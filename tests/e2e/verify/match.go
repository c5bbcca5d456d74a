// SPDX-License-Identifier: Apache-2.0

// Holds every sample against the truth: the span, the trace and the stack it must have.
package main

import (
	"fmt"
	"sort"
)

// tally counts verdicts on samples.
type tally struct {
	samples int
	right   int // inside a slot, with the expected span or none
	wrong   int

	inside, insideRight   int // of these: work for a span
	outside, outsideRight int // of these: work for none

	older     int // the span had begun before the first sample (plus the settling time)
	scheduler int // in a slot's time, but on no goroutine
	idle      int // not in any slot and on no goroutine: the scheduler, the runtime's threads
	between   int // not in any slot: Start, End and what goroutines do before and after work
	nearby    int // of these: tagged with a span that was open there
	unknown   int // IDs the program never issued

	inheritedRight, inheritedWrong int

	stacks, stacksRight int
	foreign             int // right stacks with runtime, signal or kernel frames on top
	aboveLeaf           int // right stacks of plain kinds that do not show the innermost loop

	perSpan map[string]int // samples by span ID
	perKind []kindTally
	reasons map[string]int
}

type kindTally struct {
	samples, right    int
	stacks, stackGood int
	leaf              int // right stacks that show the innermost function
	cpu               int64
}

// inheriting are the kinds whose goroutine has no span of its own and works for its creator's.
var inheriting = map[string]bool{"child": true, "child-after-own": true, "grandchild": true,
	"orphan-open": true}

func (t *tally) explain(format string, args ...any) {
	t.reasons[fmt.Sprintf(format, args...)]++
}

// match judges all samples. Spans that began less than settle after the first sample are left out:
// the agent was not there when they started.
func match(known *truth, samples []sample, settle int64) *tally {
	t := &tally{perSpan: make(map[string]int), perKind: make([]kindTally, len(known.Kinds)),
		reasons: make(map[string]int)}
	for i := range samples {
		t.add(known, &samples[i], samples[0].Time+settle)
	}
	return t
}

func (t *tally) add(known *truth, s *sample, from int64) {
	t.samples++
	if s.Span != "" {
		t.perSpan[s.Span]++
		if issued, ok := known.spans[s.Span]; !ok || issued.Trace != s.Trace {
			t.unknown++
			t.wrong++
			t.explain("an ID that was never issued")
			return
		}
	}
	list := known.slots[s.Tid]
	next := sort.Search(len(list), func(i int) bool { return list[i].Begin > s.Time })
	if next == 0 || list[next-1].Finish < s.Time {
		t.addBetween(known, s, list, next)
		return
	}
	t.addSlot(known, s, &list[next-1], from)
}

// addBetween judges a sample outside all slots: it may carry a span only where one was open that
// belongs to the work before or after it on this thread, or was started there.
func (t *tally) addBetween(known *truth, s *sample, list []slot, next int) {
	// With a goroutine at hand the scheduler is parking or readying it: judged by its spans.
	if onScheduler(s.stack) && (s.Span == "" || s.Goid == 0) {
		t.addIdle(s)
		return
	}
	if s.Span == "" {
		t.between++
		return
	}
	issued := known.spans[s.Span]
	open := s.Time >= issued.Start[0] && (issued.End[1] == 0 || s.Time <= issued.End[1])
	near := issued.Tid == s.Tid || next > 0 && list[next-1].Trace == s.Trace ||
		next < len(list) && list[next].Trace == s.Trace
	if open && near {
		t.between++
		t.nearby++
		return
	}
	t.wrong++
	t.explain("between slots: a span that was not open there (leaf %s)", leafOf(s))
}

// addIdle judges a sample of a thread on which no goroutine ran: it works for no span.
func (t *tally) addIdle(s *sample) {
	t.idle++
	t.outside++
	if s.Span != "" {
		t.wrong++
		t.explain("on no goroutine, between slots: a span (leaf %s)", leafOf(s))
		return
	}
	t.right++
	t.outsideRight++
}

func leafOf(s *sample) string {
	if len(s.stack) == 0 {
		return "unknown"
	}
	return s.stack[0].function
}

func (t *tally) addSlot(known *truth, s *sample, w *slot, from int64) {
	k, counts := &known.Kinds[w.Kind], &t.perKind[w.Kind]
	verdict := compareStack(k, s.stack)
	if verdict.scheduler {
		if s.Span != "" && s.Span != w.Span {
			t.wrong++
			t.explain("on no goroutine: another span than %s's", k.Name)
			return
		}
		t.scheduler++
		return
	}
	t.addStack(k, counts, s, verdict)
	if w.Span != "" && known.spans[w.Span].Start[0] < from {
		t.older++
		return
	}
	counts.samples++
	right := s.Span == w.Span && s.Trace == w.Trace
	if w.Span == "" {
		t.outside++
	} else {
		t.inside++
	}
	if !right {
		t.wrong++
		t.explain("%s: %s", k.Name, wrongly(known, s, w))
		return
	}
	t.right++
	counts.right++
	if w.Span == "" {
		t.outsideRight++
		return
	}
	t.insideRight++
	if s.Inherited == inheriting[k.Name] {
		t.inheritedRight++
	} else {
		t.inheritedWrong++
	}
}

// wrongly says in which way a sample's span is not the expected one.
func wrongly(known *truth, s *sample, w *slot) string {
	switch {
	case s.Span == "":
		return "no span"
	case w.Span == "":
		return "a span where none was open"
	case known.spans[s.Span].Trace == w.Trace:
		return "another span of the same trace"
	}
	return "a span of another trace"
}

func (t *tally) addStack(k *kind, counts *kindTally, s *sample, verdict stackVerdict) {
	t.stacks++
	counts.stacks++
	if !verdict.right {
		t.explain("stack of %s: %s (leaf %s)", k.Name, verdict.why, leafOf(s))
		return
	}
	t.stacksRight++
	counts.stackGood++
	if verdict.foreign > 0 {
		t.foreign++
	}
	if verdict.top == 0 {
		counts.leaf++
	} else if k.Name != "leaf" && k.Name != "inline" {
		t.aboveLeaf++
	}
}
