// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"spanprof.test/spancost/serial"
)

// place is where a worker was when a sample was taken.
type place int

const (
	atWork     place = iota // for its request
	inLeaf                  // for its request's last child, of which it has nothing in hand
	inLoneLeaf              // likewise, with no span around it
	inChildren
	inBetween // in Start or End
	outside
	elsewhere // on a thread that is no worker's
	places
)

var placeNames = [places]string{"at work", "in a leaf", "in a lone leaf", "among children",
	"in Start or End", "outside", "elsewhere"}

const crowdWorker = 0xffff // see ../ids.go

// tally is that of one stretch.
type tally struct {
	stretch
	tagged, untagged, wrong [places]int
	sources                 [places]map[string]int // of the right tags
}

// inRequest tells the place within a request, and whether it was there at all.
func inRequest(q *request, at int64) (place, bool) {
	switch {
	case at < q.At[startBegins] || at >= q.At[endEnds]:
		return outside, false
	case at >= q.At[leafBegins] && at < q.At[leafEnds]:
		if q.Lone {
			return inLoneLeaf, true
		}
		return inLeaf, true
	case at >= q.At[childrenBegin] && at < q.At[childrenEnd]:
		return inChildren, true
	case at >= q.At[workBegins] && at < q.At[childrenBegin],
		at >= q.At[workGoesOn] && at < q.At[endBegins]:
		return atWork, true
	}
	return inBetween, true
}

// isRightChild tells whether a child, 0 for the request itself, is one that a sample may show.
func isRightChild(q *request, where place, child uint16) bool {
	last := q.Children + 1 // the leaf
	if q.Lone {
		last = 0
	}
	switch where {
	case atWork:
		return child == 0
	case inLeaf, inLoneLeaf:
		return child == last
	case inChildren:
		return child <= q.Children
	}
	return child == 0 || child == last
}

// find gives the worker's request that the sample falls into; false: none.
func (t *truth) find(s *sample) (*request, place) {
	list, is := t.byThread[s.Tid]
	if !is {
		return nil, elsewhere
	}
	next := sort.Search(len(list), func(i int) bool { return list[i].At[0] > s.Time })
	if next == 0 {
		return nil, elsewhere // the thread may have done other things before
	}
	q := &list[next-1]
	where, within := inRequest(q, s.Time)
	switch {
	case within:
		return q, where
	case s.Time < q.At[idles]:
		return nil, outside
	}
	return nil, elsewhere // or after
}

// isRight tells whether that tag could be there.
func (t *truth) isRight(s *sample, q *request, where place) bool {
	is, issued := s.serial()
	if !issued {
		return false
	}
	switch where {
	case outside:
		return false
	case elsewhere:
		return t.isOpen(is.Worker, is.Request, is.Child, s.Time)
	}
	if is.Worker != q.Worker || is.Request != q.Request {
		return false
	}
	return isRightChild(q, where, is.Child)
}

// isOpen tells whether the span can have been open then. The crowd's are, while it is there.
func (t *truth) isOpen(worker uint16, number uint32, child uint16, at int64) bool {
	if worker == crowdWorker {
		return child == 0 && number <= t.CrowdSize && at >= t.Crowd[0] && at < t.Crowd[1]
	}
	q, is := t.byID[identity{worker, number}]
	if !is {
		return false
	}
	where, within := inRequest(&q, at)
	return within && (child == 0 || isRightChild(&q, where, child))
}

func (t *tally) add(known *truth, s *sample, where place, q *request) bool {
	switch {
	case s.Span == "":
		t.untagged[where]++
	case known.isRight(s, q, where):
		t.tagged[where]++
		if t.sources[where] == nil {
			t.sources[where] = map[string]int{}
		}
		t.sources[where][s.Source]++
	default:
		t.wrong[where]++
		return false
	}
	return true
}

func (t *tally) print(to io.Writer) {
	fmt.Fprintf(to, "  %s:\n", t.name)
	for p := range places {
		all := t.tagged[p] + t.untagged[p] + t.wrong[p]
		if all == 0 {
			continue
		}
		fmt.Fprintf(to, "    %-17s %6d samples, right tag %6.2f %%, none %6.2f %%, wrong %d;",
			placeNames[p], all, 100*float64(t.tagged[p])/float64(all),
			100*float64(t.untagged[p])/float64(all), t.wrong[p])
		var words []string
		for source, count := range t.sources[p] {
			words = append(words, fmt.Sprintf(" %s %d", source, count))
		}
		slices.Sort(words)
		fmt.Fprintf(to, "%s\n", strings.Join(words, ""))
	}
}

// judge prints a table for each stretch, in order of time.
func judge(known *truth, samples []sample, stretches []stretch, show int, to io.Writer) bool {
	tallies := make([]tally, len(stretches))
	for i, s := range stretches {
		tallies[i].stretch = s
	}
	wrong, judged := 0, 0
	for i := range samples {
		s := &samples[i]
		wall := s.Time - known.Monotonic + known.Wall
		in := len(tallies) - 1
		for in > 0 && wall < tallies[in].begin {
			in--
		}
		q, where := known.find(s)
		if where <= inLoneLeaf {
			judged++
		}
		if tallies[in].add(known, s, where, q) {
			continue
		}
		if wrong++; wrong <= show {
			is, issued := s.serial()
			fmt.Fprintf(to, "    wrong: %s: %+v, issued %t, %+v; at work for %+v\n",
				placeNames[where], *s, issued, is, q)
		}
	}
	for i := range tallies {
		tallies[i].print(to)
	}
	fmt.Fprintf(to, "  %d samples at work, %d of all wrong\n", judged, wrong)
	return wrong == 0 && judged > 0
}

// judgeEnds wants every end that was told of to be told of once.
func judgeEnds(ends map[string]int, to io.Writer) bool {
	again, ofCrowd := 0, 0
	for span, times := range ends {
		again += times - 1
		id, err := trace.SpanIDFromHex(span)
		if err == nil && serial.Of(id).Worker == crowdWorker {
			ofCrowd++
		}
	}
	fmt.Fprintf(to, "  ends of %d spans told of, %d of them the crowd's; %d times of one again\n",
		len(ends), ofCrowd, again)
	return again == 0
}
