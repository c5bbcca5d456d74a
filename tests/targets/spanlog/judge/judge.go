// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strings"
)

// As include/spanprof/target.h has them.
const (
	tooManyCounter = "ended span not read: more than the agent takes"
	fullCounter    = "span not followed: store of goroutines is full"
)

// tally is what spanprof told of, sorted out.
type tally struct {
	once    map[identity]told // the first time
	again   int               // more than once
	unknown int               // never ended by the service
	untrue  map[string]int    // by field
	shown   []string
}

func (t *tally) show(most int, format string, args ...any) {
	if len(t.shown) < most {
		t.shown = append(t.shown, fmt.Sprintf(format, args...))
	}
}

// isBuilt tells names that the service made for one span. Their memory may be another text's by the
// time that it is read, so that no name is a true answer, too.
func isBuilt(name string) bool { return strings.Contains(name, "#") }

// difference names the first field in which the two are not the same.
func difference(is told, e ended) string {
	switch {
	case is.Name != e.Name && !(is.Name == "" && isBuilt(e.Name)):
		return "name"
	case is.Start != e.Start:
		return "start"
	// A span that ends before it starts has taken no time.
	case is.Duration != max(e.End-e.Start, 0):
		return "duration"
	case is.Parent != e.Parent:
		return "parent"
	case is.Status != e.Status:
		return "status"
	case is.Kind != e.Kind:
		return "kind"
	}
	return ""
}

func sortOut(l *serviceLog, all []told, most int) *tally {
	t := &tally{once: map[identity]told{}, untrue: map[string]int{}}
	for _, is := range all {
		e, known := l.spans[is.identity]
		if !known {
			t.unknown++
			t.show(most, "never ended: %+v", is)
			continue
		}
		if _, before := t.once[is.identity]; before {
			t.again++
			t.show(most, "told of again: %+v", is)
			continue
		}
		t.once[is.identity] = is
		if field := difference(is, e); field != "" {
			t.untrue[field]++
			t.show(most, "%s: told %+v, logged %+v", field, is, e)
		}
	}
	return t
}

// checklist prints one line per figure and remembers whether one failed.
type checklist struct {
	to     io.Writer
	failed bool
}

func (c *checklist) check(ok bool, format string, args ...any) {
	mark := "ok  "
	if !ok {
		mark, c.failed = "FAIL", true
	}
	fmt.Fprintf(c.to, "  %s  %s\n", mark, fmt.Sprintf(format, args...))
}

func (c *checklist) say(format string, args ...any) {
	fmt.Fprintf(c.to, "        %s\n", fmt.Sprintf(format, args...))
}

func judge(l *serviceLog, all []told, v *verbose, limit limits, to io.Writer) bool {
	list := &checklist{to: to}
	t := sortOut(l, all, limit.shown)
	list.check(t.unknown == 0, "told of spans that never ended: %d", t.unknown)
	list.check(t.again == 0, "told of a span again: %d times", t.again)
	list.check(len(t.untrue) == 0, "told of with another %v", t.untrue)
	checkPhases(list, l, t, limit)
	checkCounts(list, l, t, v, limit)
	checkNames(list, l, t, limit)
	for _, text := range t.shown {
		list.say("%s", text)
	}
	return !list.failed
}

// sums are those of a phase or of a name.
type sums struct {
	ended, told    int
	built, unnamed int // of those told of: with a name that was built, and without a name
}

func (s *sums) add(e ended, is told, found bool) {
	s.ended++
	if !found {
		return
	}
	s.told++
	if isBuilt(e.Name) {
		s.built++
	}
	if is.Name == "" {
		s.unnamed++
	}
}

// checkPhases wants those told of that the garbage collector left alone.
func checkPhases(list *checklist, l *serviceLog, t *tally, limit limits) {
	of := make([]sums, len(l.Phases))
	for id, e := range l.spans {
		is, found := t.once[id]
		of[e.Phase].add(e, is, found)
	}
	for i, p := range l.Phases {
		s, each := of[i], float64(p.Cycles)/p.Seconds
		line := fmt.Sprintf("%s: told of %d of %d spans, %s, %d of %d built names left out "+
			"(%.0f spans, %.1f collections a second)", p.Name, s.told, s.ended,
			percent(s.told, s.ended), s.unnamed, s.built, float64(s.ended)/p.Seconds, each)
		switch {
		case p.Started != s.ended:
			list.check(false, "%s: %d spans started, %d ended", p.Name, p.Started, s.ended)
		case i == 0: // begun before the attach
			list.say("%s", line)
		case p.Garbage:
			list.check(s.told > 0 && each >= limit.cycles, "%s", line)
		default:
			list.check(share(s.told, s.ended) >= limit.told && p.Cycles == 0, "%s", line)
		}
	}
}

// checkCounts wants the agent to know how many it has not told of: nothing is lost without a trace.
func checkCounts(list *checklist, l *serviceLog, t *tally, v *verbose, limit limits) {
	warmUp, ended, told := l.Phases[0].Started, len(l.spans), len(t.once)
	list.check(float64(v.started) >= float64(ended-warmUp)*(1-limit.starts) &&
		float64(v.started) <= float64(ended)*(1+limit.starts) && ended-warmUp >= limit.overall,
		"started: %d, seen to start: %d (%d were of the warm-up, which began before)", ended,
		v.started, warmUp)
	list.check(v.told == told+t.again+t.unknown && v.open == 0,
		"by the agent's count told of: %d, still open: %d", v.told, v.open)
	lost := v.started - v.told - v.open
	list.check(share(abs(lost-(v.started-told)), v.started) <= 1-limit.known,
		"by the agent's count lost: %d, lost: %d", lost, v.started-told)
	list.say("%s: %d", tooManyCounter, v.counters[tooManyCounter])
	list.check(v.counters[fullCounter] == 0, "%s: %d", fullCounter, v.counters[fullCounter])
}

// byName are the sums of names in the phases with or without garbage collection.
func byName(l *serviceLog, t *tally, garbage bool) map[string]*sums {
	of := map[string]*sums{}
	for id, e := range l.spans {
		if e.Phase == 0 || l.Phases[e.Phase].Garbage != garbage {
			continue
		}
		name := e.Name
		if isBuilt(name) {
			name, _, _ = strings.Cut(name, "#")
		}
		if of[name] == nil {
			of[name] = &sums{}
		}
		is, found := t.once[id]
		of[name].add(e, is, found)
	}
	return of
}

// checkNames scales what was told of each name by the share of all starts that was told of. What
// the garbage collector takes is not the same part of each name: those phases are only shown.
func checkNames(list *checklist, l *serviceLog, t *tally, limit limits) {
	quiet, garbage := byName(l, t, false), byName(l, t, true)
	for i, of := range []map[string]*sums{quiet, garbage} {
		all := sums{}
		names := make([]string, 0, len(of))
		for name, s := range of {
			names = append(names, name)
			all.ended += s.ended
			all.told += s.told
		}
		sort.Strings(names)
		scale := float64(all.ended) / float64(max(all.told, 1))
		list.say("%s garbage collection, told of a name × %.3f:", []string{"without", "with"}[i],
			scale)
		for _, name := range names {
			s := of[name]
			off := scale*float64(s.told)/float64(s.ended) - 1
			line := fmt.Sprintf("%-20.20s %5d ended, told of %s, scaled %+.1f %%", name, s.ended,
				percent(s.told, s.ended), 100*off)
			if i == 0 && s.ended+garbage[name].ended >= limit.ofName {
				list.check(math.Abs(off) <= limit.scaled, "%s", line)
			} else {
				list.say("%s", line)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func percent(part, whole int) string { return fmt.Sprintf("%.2f %%", 100*share(part, whole)) }
