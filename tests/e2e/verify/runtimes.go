// SPDX-License-Identifier: Apache-2.0

// Compares what spanprof sampled with what the Go runtime sampled of the same process meanwhile.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
	"strings"

	"spanprof.test/lines"
)

// shares are samples by function: of those in which it is the leaf, and of those it is in at all.
type shares struct {
	samples    float64
	flat, with map[string]float64
}

func newShares() *shares {
	return &shares{flat: map[string]float64{}, with: map[string]float64{}}
}

// add takes a stack, leaf first. Where a goroutine was asked to yield it is the function that was.
func (s *shares) add(functions []string, count float64) {
	for len(functions) > 1 && functions[0] == "runtime.asyncPreempt" {
		functions = functions[1:]
	}
	if len(functions) == 0 {
		return
	}
	s.samples += count
	s.flat[functions[0]] += count
	seen := map[string]bool{}
	for _, f := range functions {
		if !seen[f] {
			s.with[f] += count
		}
		seen[f] = true
	}
}

// readRuntimeProfile reads what runtime/pprof wrote: one sample is one count.
func readRuntimeProfile(path string) (*shares, error) {
	p, err := parsePprof(path)
	if err != nil {
		return nil, err
	}
	s := newShares()
	for _, sample := range p.Sample {
		var functions []string
		for _, l := range sample.Location {
			for _, line := range l.Line {
				functions = append(functions, line.Function.Name)
			}
		}
		s.add(functions, float64(sample.Value[0]))
	}
	return s, nil
}

// goFrames are a sample's functions that runtime/pprof can see: none of the kernel's or C's. nil:
// in the runtime's own profiler, which does not see itself.
func goFrames(stack []string) []string {
	var functions []string
	for _, frame := range stack {
		at := strings.LastIndex(frame, " ")
		if at < 0 || !strings.Contains(frame[at:], ".go:") && !strings.Contains(frame[at:], ".s:") {
			continue
		}
		if frame[:at] == "runtime.sigtramp" || frame[:at] == "runtime.sigprof" {
			return nil
		}
		functions = append(functions, frame[:at])
	}
	return functions
}

func readOwnSamples(path string, from, to int64) (*shares, error) {
	return lines.ReadFile(path, func(r io.Reader) (*shares, error) {
		s := newShares()
		err := lines.Each(r, func(line []byte) error {
			var sample struct {
				TimeNs int64    `json:"time_ns"`
				Stack  []string `json:"stack"`
			}
			if err := json.Unmarshal(line, &sample); err != nil {
				return err
			}
			if sample.TimeNs >= from && sample.TimeNs < to {
				s.add(goFrames(sample.Stack), 1)
			}
			return nil
		})
		return s, err
	})
}

// distance is the total variation of two distributions.
func distance(a, b map[string]float64, aSum, bSum float64) float64 {
	var sum float64
	for f, n := range a {
		sum += max(n/aSum-b[f]/bSum, 0)
	}
	return sum
}

// noise tells how far apart two sets of samples of one distribution are: the middle, and the range
// of the middle 95 %.
func noise(a, b *shares) (middle, low, high float64) {
	const rounds = 200
	var names []string
	var cumulated []float64
	var sum float64
	for _, s := range []*shares{a, b} {
		for f := range s.flat {
			names = append(names, f)
			sum += s.flat[f] / s.samples
			cumulated = append(cumulated, sum)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n float64) map[string]float64 {
		drawn := map[string]float64{}
		for range int(n) {
			i := sort.SearchFloat64s(cumulated, random.Float64()*sum)
			drawn[names[min(i, len(names)-1)]]++
		}
		return drawn
	}
	var distances []float64
	for range rounds {
		distances = append(distances, distance(draw(a.samples), draw(b.samples), a.samples, b.samples))
	}
	sort.Float64s(distances)
	return distances[rounds/2], distances[rounds/40], distances[rounds-1-rounds/40]
}

// pseudo are no functions: what the runtime blames where it cannot walk a stack.
var pseudo = map[string]bool{"runtime._System": true, "runtime._ExternalCode": true,
	"runtime._GC": true, "runtime._LostExternalCode": true, "runtime._LostSIGPROFDuringAtomic64": true,
	"runtime._VDSO": true}

func verifyRuntime(arguments []string) error {
	flags := flag.NewFlagSet("runtime", flag.ExitOnError)
	theirPath := flags.String("pprof", "", "what runtime/pprof wrote")
	ourPath := flags.String("samples", "", "what spanprof wrote (.jsonl)")
	from := flags.Int64("from", 0, "ns of CLOCK_MONOTONIC")
	to := flags.Int64("to", 0, "ns of CLOCK_MONOTONIC")
	least := flags.Float64("least", 20000, "samples of each")
	flags.Parse(arguments)
	theirs, err := readRuntimeProfile(*theirPath)
	if err != nil {
		return err
	}
	ours, err := readOwnSamples(*ourPath, *from, *to)
	if err != nil {
		return err
	}
	var list checklist
	list.check(ours.samples >= *least && theirs.samples >= *least, "%.0f samples, runtime/pprof %.0f",
		ours.samples, theirs.samples)
	compareCumulative(&list, ours, theirs)
	apart := distance(ours.flat, theirs.flat, ours.samples, theirs.samples)
	middle, low, high := noise(ours, theirs)
	list.check(apart <= 1.35*middle,
		"flat: total variation %.4f, %.2f times that of samples of one distribution: %.4f (%.4f-%.4f)",
		apart, apart/middle, middle, low, high)
	return list.result()
}

func compareCumulative(list *checklist, ours, theirs *shares) {
	var worst float64
	var worstName string
	var absent []string
	for f, n := range theirs.with {
		share := n / theirs.samples
		if pseudo[f] {
			continue
		}
		if share > 0.005 && ours.with[f] == 0 {
			absent = append(absent, fmt.Sprintf("%s %.2f %%", f, 100*share))
		}
		if d := max(share-ours.with[f]/ours.samples, ours.with[f]/ours.samples-share); d > worst {
			worst, worstName = d, f
		}
	}
	for f, n := range ours.with {
		share := n / ours.samples
		if share > 0.005 && theirs.with[f] == 0 {
			absent = append(absent, fmt.Sprintf("%s %.2f %% only here", f, 100*share))
		}
	}
	list.check(worst <= 0.03, "cumulative: worst difference %.2f points (%s)", 100*worst, worstName)
	list.check(len(absent) == 0, "absent functions: %d %s", len(absent), strings.Join(absent, ", "))
}
