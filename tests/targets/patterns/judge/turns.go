// SPDX-License-Identifier: Apache-2.0

// Requests that took turns on one thread with one and the same stack.
package main

import (
	"math"
	"strings"
)

func isTurn(known *truth, w *slot) bool {
	return strings.HasPrefix(known.Kinds[w.Kind].Name, "alternate-")
}

// addTurn counts the functions of a stack down to the loop that spins: what interrupts it is no
// choice of the program.
func (v *verdict) addTurn(s *sample, got tag) {
	functions := ""
	for i := len(s.Stack) - 1; i >= 0; i-- {
		function, _, _ := strings.Cut(s.Stack[i], " ")
		functions += function + " "
		if strings.HasSuffix(function, "pattern.spin") {
			break
		}
	}
	if v.stacks[got.Span] == nil {
		v.stacks[got.Span] = map[string]int{}
	}
	v.stacks[got.Span][functions]++
}

// turns is what the program says of the requests of one kind.
type turns struct {
	cpu         map[string]float64 // by span ID
	all, follow int                // of all, those that follow the other's on the same thread
}

// checkTurns compares CPU time with the program's own clock, within four standard errors of the
// number of samples, and sees that it was one stack and turns on one thread indeed.
func (v *verdict) checkTurns(known *truth, period float64) {
	for number, k := range known.Kinds {
		found := turns{cpu: map[string]float64{}}
		for _, list := range known.slots {
			found.add(known, list, number)
		}
		if found.all > 0 {
			v.checkRequests(k.Name, &found, period)
		}
	}
}

func (t *turns) add(known *truth, list []slot, number int) {
	for i := range list {
		if list[i].Kind != number || !isTurn(known, &list[i]) {
			continue
		}
		span := list[i].Right[0].Span
		t.cpu[span] += float64(list[i].CPU)
		t.all++
		if i > 0 && list[i-1].Kind == number && list[i-1].Right[0].Span != span {
			t.follow++
		}
	}
}

func (v *verdict) checkRequests(name string, found *turns, period float64) {
	common := map[string]bool{}
	for id, ns := range found.cpu {
		sampled := float64(v.perSpan[id]) * period
		v.verify(math.Abs(sampled-ns) <= 4*math.Sqrt(ns*period),
			"%s: %.0f ms by samples of a span, %.0f ms by the program's clock", name, sampled/1e6,
			ns/1e6)
		stack, most := "", 0
		for functions, count := range v.stacks[id] {
			if count > most {
				stack, most = functions, count
			}
		}
		common[stack] = true
	}
	v.verify(len(common) == 1 && !common[""], "%s: %d requests, stacks that most samples show: %d",
		name, len(found.cpu), len(common))
	v.verify(found.follow*10 >= found.all*9,
		"%s: %d of %d turns follow the other request's on one thread", name, found.follow,
		found.all)
}
