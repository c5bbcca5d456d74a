// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"sort"
	"strings"
)

// tally is what became of the samples of one kind.
type tally struct {
	samples, right, wrong, untagged int
}

type verdict struct {
	failed  bool
	kinds   []tally
	perSpan map[string]int // samples that carry the ID, anywhere
	inKind  []map[string]bool
	stacks  map[string]map[string]int // by span ID: those of turns
	between int
	stale   int // tags of spans that had ended, or that nobody issued
	reasons map[string]int
}

func (v *verdict) explain(format string, args ...any) {
	v.reasons[fmt.Sprintf(format, args...)]++
}

func (v *verdict) verify(ok bool, format string, args ...any) {
	mark := "ok  "
	if !ok {
		mark, v.failed = "FAIL", true
	}
	fmt.Printf("  %s  %s\n", mark, fmt.Sprintf(format, args...))
}

func match(known *truth, samples []sample) *verdict {
	v := &verdict{kinds: make([]tally, len(known.Kinds)), perSpan: map[string]int{},
		stacks: map[string]map[string]int{}, reasons: map[string]int{}}
	for range known.Kinds {
		v.inKind = append(v.inKind, map[string]bool{})
	}
	for i := range samples {
		s := &samples[i]
		if s.Pid != known.Pid {
			continue
		}
		if s.Time > known.Wall/2 {
			s.Time -= known.Wall - known.Monotonic
		}
		got := s.tag()
		if got.Span != "" {
			v.perSpan[got.Span]++
		}
		list := known.slots[s.Tid]
		next := sort.Search(len(list), func(i int) bool { return list[i].Begin > s.Time })
		if next == 0 || list[next-1].Finish < s.Time {
			v.addBetween(known, s, got)
			continue
		}
		v.addSlot(known, s, got, &list[next-1])
	}
	return v
}

// addBetween judges what is not work of a kind: what the libraries and the rest of the program do.
func (v *verdict) addBetween(known *truth, s *sample, got tag) {
	v.between++
	issued, found := known.spans[got.Span]
	switch {
	case got.Span == "" || s.Source == "labels" && !found: // the program's own label
	case !found || issued.Trace != got.Trace:
		v.stale++
		v.explain("between: an ID that nobody issued")
	case s.Time < issued.Start:
		v.stale++
		v.explain("between: a span that had not begun")
	case issued.End != 0 && s.Time > issued.End:
		v.stale++
		v.explain("between: a span that had ended (in %s)", s.leaf())
	}
}

func (v *verdict) addSlot(known *truth, s *sample, got tag, w *slot) {
	if got.Span == "" && s.Goid == 0 {
		return // the thread had been taken from its goroutine
	}
	name, counts := known.Kinds[w.Kind].Name, &v.kinds[w.Kind]
	counts.samples++
	for _, right := range w.Right {
		if right.accepts(got) {
			counts.right++
			v.inKind[w.Kind][got.Span] = true
			if isTurn(known, w) {
				v.addTurn(s, got)
			}
			return
		}
	}
	if got.Span == "" {
		counts.untagged++
		return
	}
	counts.wrong++
	issued, found := known.spans[got.Span]
	switch {
	case !found:
		v.explain("%s: an ID that nobody issued", name)
	case issued.End != 0 && s.Time > issued.End:
		v.explain("%s: a span that had ended", name)
	case w.Right[0].Span == "":
		v.explain("%s: a span where none was due", name)
	case issued.Trace == w.Right[0].Trace:
		v.explain("%s: another span of the trace", name)
	default:
		v.explain("%s: a span of another trace", name)
	}
}

// fault says in a word what is wrong with a kind, "" when nothing is.
func (c *tally) fault(k *kind, least int) string {
	switch {
	case c.wrong > 0:
		return "WRONG"
	case c.samples < least:
		return "FEW"
	case float64(c.untagged) > max((1-k.Least)*float64(c.samples), 1):
		return "MISSED" // a single one is no share yet
	}
	return ""
}

// check prints and judges the kinds.
func (v *verdict) check(known *truth, least int) {
	fmt.Printf("  pid %d, %s, %d spans\n", known.Pid, known.Go, len(known.spans))
	fmt.Printf("  %-4s %-28s %7s %7s %5s %8s %8s\n", "rule", "kind", "samples", "right", "wrong",
		"untagged", "share")
	var faulty []string
	rules := map[string]*tally{}
	for i := range known.Kinds {
		k, c := &known.Kinds[i], &v.kinds[i]
		fault := c.fault(k, least)
		fmt.Printf("  %-4s %-28s %7d %7d %5d %8d %8s %s\n", k.Rule, k.Name, c.samples, c.right,
			c.wrong, c.untagged, percent(c.right, c.samples), fault)
		if fault != "" {
			faulty = append(faulty, k.Name)
		}
		if rules[k.Rule] == nil {
			rules[k.Rule] = &tally{}
		}
		if k.Least > 0.9 {
			rules[k.Rule].samples += c.samples
			rules[k.Rule].right += c.right
		}
	}
	v.verify(len(faulty) == 0, "kinds at fault: %d %s", len(faulty), strings.Join(faulty, " "))
	for _, rule := range []string{"R1", "R2"} {
		if sum := rules[rule]; sum != nil {
			v.verify(float64(sum.samples-sum.right) <= max(0.001*float64(sum.samples), 1),
				"%s: %s of %d samples right", rule, percent(sum.right, sum.samples), sum.samples)
		}
	}
	v.verify(v.stale == 0, "between work: %d samples, %d with a tag that was not open", v.between,
		v.stale)
}

// checkNames holds the names of renamed spans against their last.
func (v *verdict) checkNames(known *truth, names map[string]string) {
	for i := range known.Kinds {
		if known.Kinds[i].Name != "renamed-after" {
			continue
		}
		right := 0
		for id := range v.inKind[i] {
			if names[id] == known.spans[id].Name {
				right++
			}
		}
		v.verify(right == len(v.inKind[i]) && right > 0, "last name: %d of %d renamed spans", right,
			len(v.inKind[i]))
	}
}

// checkLinks: spans recorded without the sampled flag may be linked nowhere, all others are.
func (v *verdict) checkLinks(known *truth, links map[string]bool) {
	local, localLinked, sampled, sampledLinked := 0, 0, 0, 0
	for id := range v.perSpan {
		issued, found := known.spans[id]
		switch {
		case found && issued.Sampled:
			sampled++
			if links[id] {
				sampledLinked++
			}
		case found:
			local++
			if links[id] {
				localLinked++
			}
		}
	}
	v.verify(sampledLinked == sampled && sampled > 0, "linked on the wire: %d of %d sampled spans",
		sampledLinked, sampled)
	v.verify(localLinked == 0, "linked on the wire: %d of %d spans without the sampled flag",
		localLinked, local)
}

func (v *verdict) printReasons() {
	var texts []string
	for text := range v.reasons {
		texts = append(texts, text)
	}
	sort.Slice(texts, func(i, j int) bool { return v.reasons[texts[i]] > v.reasons[texts[j]] })
	for _, text := range texts {
		fmt.Printf("  %5d × %s\n", v.reasons[text], text)
	}
}

func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(whole))
}
