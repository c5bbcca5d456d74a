// SPDX-License-Identifier: Apache-2.0

// Holds what spans waited, as spanprof saw it, against what the waits program measured itself.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"

	"github.com/google/pprof/profile"
	"spanprof.test/lines"
)

// waitTruth is a line of the program's.
type waitTruth struct {
	Kind    string `json:"kind"`
	SpanID  string `json:"span_id"`
	Elapsed int64  `json:"elapsed_ns"`
	Long    bool   `json:"long"`
	Waits   []struct {
		Function string `json:"function"`
		Reason   string `json:"reason"`
		Ns       int64  `json:"ns"`
		AllNs    int64  `json:"all_ns"`
	} `json:"waits"`
}

func readWaitTruth(r io.Reader) ([]waitTruth, error) {
	var all []waitTruth
	err := lines.Each(r, func(text []byte) error {
		var one waitTruth
		all = append(all, one)
		return json.Unmarshal(text, &all[len(all)-1])
	})
	return all, err
}

// seenSpan is what a profile has of a span: CPU time, and off-CPU time by its leaf.
type seenSpan struct {
	cpu    int64
	states map[string]int64 // "chan receive", "runnable" …
	places map[string]int64 // state and function of the program: "chan receive main.receives"
}

func (s *seenSpan) offCPU() (sum int64) {
	for _, ns := range s.states {
		sum += ns
	}
	return sum
}

// stateOf gives the state without its brackets and details.
func stateOf(s *profile.Sample) string {
	if len(s.Location) == 0 || len(s.Location[0].Line) == 0 {
		return ""
	}
	state, _, _ := strings.Cut(strings.Trim(s.Location[0].Line[0].Function.Name, "[]"), ":")
	return state
}

// ownFunction is the innermost function of the program itself.
func ownFunction(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if strings.HasPrefix(line.Function.Name, "main.") {
				return line.Function.Name
			}
		}
	}
	return ""
}

func typeIndex(p *profile.Profile, name string) int {
	for i, kind := range p.SampleType {
		if kind.Type == name && kind.Unit == "nanoseconds" {
			return i
		}
	}
	return -1
}

func readWaits(path string) (map[string]*seenSpan, error) {
	p, err := parsePprof(path)
	if err != nil {
		return nil, err
	}
	cpu, off := typeIndex(p, "cpu"), typeIndex(p, "off_cpu")
	if cpu < 0 || off < 0 {
		return nil, fmt.Errorf("%s: no sample types cpu and off_cpu", path)
	}
	spans := map[string]*seenSpan{}
	for _, s := range p.Sample {
		id := label(s, "span_id")
		if spans[id] == nil {
			spans[id] = &seenSpan{states: map[string]int64{}, places: map[string]int64{}}
		}
		spans[id].cpu += s.Value[cpu]
		if s.Value[off] != 0 {
			spans[id].states[stateOf(s)] += s.Value[off]
			spans[id].places[stateOf(s)+" "+ownFunction(s)] += s.Value[off]
		}
	}
	return spans, nil
}

// kindSums is what is judged of one kind.
type kindSums struct {
	spans, long, longRight int
	truth, all             float64 // waited until what it waited for happened; until it ran
	seen, right            float64 // in the right state; there and in the right function
	elapsed, accounted     float64
	other                  map[string]int64
}

// off is how far a value lies outside of two others, in percent of them.
func off(value, least, most float64) float64 {
	switch {
	case value < least:
		return 100 * (value/least - 1)
	case value > most:
		return 100 * (value/most - 1)
	}
	return 0
}

// judge compares one span. When what it waited for has happened, the runtime still has to notice,
// and to find a thread: of these the program knows the sum.
func (k *kindSums) judge(t *waitTruth, s *seenSpan) {
	var truth, all, right float64
	if s == nil {
		s = &seenSpan{}
	}
	wanted := map[string]bool{}
	for _, w := range t.Waits {
		truth += float64(w.Ns)
		all += float64(w.AllNs)
		right += float64(s.places[w.Reason+" "+w.Function])
		wanted[w.Reason] = true
	}
	for state, ns := range s.states {
		if wanted[state] {
			k.seen += float64(ns)
		} else {
			k.other[state] += ns
		}
	}
	k.spans++
	k.truth += truth
	k.all += all
	k.right += right
	k.elapsed += float64(t.Elapsed)
	k.accounted += float64(s.cpu) + float64(s.offCPU())
	if t.Long {
		k.long++
		if math.Abs(off(right, truth, all)) <= 10 {
			k.longRight++
		}
	}
}

func verifyWaits(args []string) error {
	flags := flag.NewFlagSet("waits", flag.ExitOnError)
	truthPath := flags.String("truth", "", "the program's lines")
	pprofPath := flags.String("pprof", "", "spanprof's pprof file")
	least := flags.Int("spans", 200, "spans of each kind, at least")
	mean := flags.Float64("mean", 3, "percent that the mean time waited may be off")
	whole := flags.Bool("whole", false, "judge accounted time alone")
	account := flags.Float64("accounted", 3, "percent that the accounted time may be off")
	flags.Parse(args)
	truth, err := lines.ReadFile(*truthPath, readWaitTruth)
	if err != nil {
		return err
	}
	spans, err := readWaits(*pprofPath)
	if err != nil {
		return err
	}
	kinds := map[string]*kindSums{}
	for i := range truth {
		t := &truth[i]
		if kinds[t.Kind] == nil {
			kinds[t.Kind] = &kindSums{other: map[string]int64{}}
		}
		kinds[t.Kind].judge(t, spans[t.SpanID])
	}
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	var c checklist
	var elapsed, accounted float64
	for _, name := range names {
		k := kinds[name]
		elapsed += k.elapsed
		accounted += k.accounted
		if *whole {
			continue
		}
		c.check(k.spans >= *least && math.Abs(off(k.right, k.truth, k.all)) <= *mean,
			"%-10s %5d spans, waited %.2f to %.2f s: seen %.2f s there, %.2f s in that state; else %v",
			name, k.spans, k.truth/1e9, k.all/1e9, k.right/1e9, k.seen/1e9, milliseconds(k.other))
		c.check(k.longRight*10 >= k.long*9, "%-10s %d of %d spans of a second within 10 %%", name,
			k.longRight, k.long)
	}
	share := 100 * accounted / elapsed
	c.check(math.Abs(share-100) <= *account, "accounted: %.2f %% of elapsed time", share)
	return c.result()
}

func milliseconds(ns map[string]int64) string {
	var parts []string
	for state, n := range ns {
		parts = append(parts, fmt.Sprintf("%s %d ms", state, n/1e6))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}
