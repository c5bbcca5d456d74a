// SPDX-License-Identifier: Apache-2.0

// Holds every sample against the truth: the span, the trace and the stack it must have.
package main

import (
	"fmt"
	"sort"
)

// score counts samples whose span is known. An untagged one says nothing where a span was open; a
// wrong one says something untrue: another span, or any where none was open.
type score struct {
	right, wrong, untagged int
}

func (c *score) count(s *sample, w *slot) {
	switch {
	case s.Span == w.Span && s.Trace == w.Trace:
		c.right++
	case s.Span == "":
		c.untagged++
	default:
		c.wrong++
	}
}

func (c score) total() int { return c.right + c.wrong + c.untagged }

func (c score) plus(d score) score {
	return score{c.right + d.right, c.wrong + d.wrong, c.untagged + d.untagged}
}

// rules say what is judged.
type rules struct {
	settle     int64 // spans that began less than this after the first sample count as older
	judgeOlder bool  // judge these, too
	show       int   // describe so many samples that are not right
}

// tally counts verdicts on samples.
type tally struct {
	rules
	samples int

	inside  score // in a slot, at work for a span
	outside score // at work for none, or on no goroutine between slots
	older   score // at work for a span that is older than the attach
	unaware score // of no weight: see the kinds of that name
	stray   int   // wrong ones that belong to no slot, and IDs the program never issued
	unknown int   // of these: IDs the program never issued

	scheduler int // in a slot's time, but on no goroutine
	idle      int // not in any slot and on no goroutine: the scheduler, the runtime's threads
	between   int // not in any slot: Start, End and what goroutines do before and after work
	nearby    int // of these: tagged with a span that was open there

	inheritedRight, inheritedWrong int

	stacks, stacksRight int
	foreign             int // right stacks with runtime, signal or kernel frames on top
	aboveLeaf           int // right stacks of plain kinds that do not show the innermost loop

	perSpan map[string]int // samples by span ID
	perKind []kindTally
	reasons map[string]int
	shown   []string
	first   int64 // time of the first sample
}

type kindTally struct {
	spans, older      score
	stacks, stackGood int
	leaf              int // right stacks that show the innermost function
	cpu, olderCPU     int64
}

// inSpans are the judged samples at work for a span.
func (t *tally) inSpans() score {
	if t.judgeOlder {
		return t.inside.plus(t.older)
	}
	return t.inside
}

// judged are all judged samples.
func (t *tally) judged() score {
	return t.inSpans().plus(t.outside).plus(score{wrong: t.stray})
}

// inheriting are the kinds whose goroutine has no span of its own and works for its creator's.
var inheriting = map[string]bool{"child": true, "child-after-own": true, "grandchild": true,
	"orphan-open": true}

// unaware are the kinds whose goroutine, when the span is older than the attach, may be older, too,
// and holds nothing of it: nobody can tell it from one made before that span. It may be untagged,
// but not wrong. (Children made after the attach are judged as older-new-child.) Likewise who leaked
// its span, which is used no more.
var unaware = map[string]bool{"older-unaware": true, "child": true, "child-after-own": true,
	"grandchild": true, "orphan-open": true, "leaked": true}

func (t *tally) explain(format string, args ...any) {
	t.reasons[fmt.Sprintf(format, args...)]++
}

// blame explains a sample that is not right.
func (t *tally) blame(s *sample, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	t.explain("%s", why)
	if len(t.shown) < t.show {
		t.shown = append(t.shown, fmt.Sprintf("+%.3f s, thread %d, goroutine %d, span %q: %s (leaf %s)",
			float64(s.Time-t.first)/1e9, s.Tid, s.Goid, s.Span, why, leafOf(s)))
	}
}

// match judges all samples. The agent was not there when spans began that are older than the first
// sample, or had not attached all probes.
func match(known *truth, samples []sample, r rules) *tally {
	t := &tally{rules: r, perSpan: make(map[string]int),
		perKind: make([]kindTally, len(known.Kinds)), reasons: make(map[string]int),
		first: samples[0].Time}
	for i := range samples {
		t.add(known, &samples[i])
	}
	return t
}

// slotOf gives the stretch of work in which a sample was taken, nil between two; and the place in
// its thread's list of the next one.
func slotOf(known *truth, s *sample) (w *slot, next int) {
	list := known.slots[s.Tid]
	next = sort.Search(len(list), func(i int) bool { return list[i].Begin > s.Time })
	if next == 0 || list[next-1].Finish < s.Time {
		return nil, next
	}
	return &list[next-1], next
}

func (t *tally) add(known *truth, s *sample) {
	t.samples++
	if s.Span != "" {
		t.perSpan[s.Span]++
		if issued, ok := known.spans[s.Span]; !ok || issued.Trace != s.Trace {
			t.unknown++
			t.stray++
			t.blame(s, "an ID that was never issued")
			return
		}
	}
	w, next := slotOf(known, s)
	if w == nil {
		t.addBetween(known, s, known.slots[s.Tid], next)
		return
	}
	t.addSlot(known, s, w)
}

// addBetween judges a sample outside all slots: it may carry a span only where one was open that
// belongs to the work before or after it on this thread or was started there. Its goroutine may have
// come from another thread: then nobody is at work for it there at that moment.
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
	if open && (near || !known.isAtWork(s.Span, s.Time)) {
		t.between++
		t.nearby++
		return
	}
	t.stray++
	t.blame(s, "between slots: a span that was %s", absence(s, issued))
}

// absence says why a span is no right tag for a sample outside all slots.
func absence(s *sample, issued span) string {
	switch {
	case s.Time < issued.Start[0]:
		return fmt.Sprintf("started %d us later", (issued.Start[0]-s.Time)/1000)
	case issued.End[1] != 0 && s.Time > issued.End[1]:
		return fmt.Sprintf("ended %d us before", (s.Time-issued.End[1])/1000)
	}
	return fmt.Sprintf("open, but of thread %d, and somebody is at work for it elsewhere", issued.Tid)
}

// addIdle judges a sample of a thread on which no goroutine ran: it works for no span.
func (t *tally) addIdle(s *sample) {
	t.idle++
	t.outside.count(s, &slot{})
	if s.Span != "" {
		t.blame(s, "on no goroutine, between slots: a span")
	}
}

func leafOf(s *sample) string {
	if len(s.stack) == 0 {
		return "unknown"
	}
	return s.stack[0].function
}

func (t *tally) addSlot(known *truth, s *sample, w *slot) {
	k, counts := &known.Kinds[w.Kind], &t.perKind[w.Kind]
	verdict := compareStack(k, s.stack)
	if verdict.scheduler {
		if s.Span != "" && s.Span != w.Span {
			t.stray++
			t.blame(s, "on no goroutine: another span than %s's", k.Name)
			return
		}
		t.scheduler++
		return
	}
	t.addStack(k, counts, s, verdict)
	older := w.Span != "" && known.spans[w.Span].Start[0] < t.first+t.settle
	judged := !older || t.judgeOlder
	switch {
	case older && unaware[k.Name] && s.Span == "":
		counts.older.count(s, w)
		t.unaware.count(s, w)
		return
	case older:
		counts.older.count(s, w)
		t.older.count(s, w)
	case w.Span == "":
		counts.spans.count(s, w)
		t.outside.count(s, w)
	default:
		counts.spans.count(s, w)
		t.inside.count(s, w)
	}
	right := s.Span == w.Span && s.Trace == w.Trace
	if !right && judged {
		t.blame(s, "%s: %s", k.Name, wrongly(known, s, w))
	}
	// A context found on a goroutine's stack does not tell who made the span.
	if !right || older || w.Span == "" {
		return
	}
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
