// SPDX-License-Identifier: Apache-2.0

// Reads spanprof's pprof files: CPU time by span, by name, by function.
package main

import (
	"fmt"
	"math"
	"os"

	"github.com/google/pprof/profile"
)

// taggedSample is a sample of a pprof file: who it worked for, how long, in which functions.
type taggedSample struct {
	trace, span, name string
	ns                int64
	functions         []string // leaf first, inlined frames included
}

func parsePprof(path string) (*profile.Profile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func readPprof(path string) ([]taggedSample, error) {
	p, err := parsePprof(path)
	if err != nil {
		return nil, err
	}
	value := typeIndex(p, "cpu")
	if value < 0 {
		return nil, fmt.Errorf("%s: no sample type cpu/nanoseconds", path)
	}
	var samples []taggedSample
	for _, s := range p.Sample {
		if s.Value[value] == 0 {
			continue // off-CPU time
		}
		t := taggedSample{trace: label(s, "trace_id"), span: label(s, "span_id"),
			name: label(s, "span_name"), ns: s.Value[value]}
		for _, l := range s.Location {
			for _, line := range l.Line {
				t.functions = append(t.functions, line.Function.Name)
			}
		}
		samples = append(samples, t)
	}
	return samples, nil
}

func label(s *profile.Sample, key string) string {
	if values := s.Label[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// comparePprof checks that the pprof file gives every span the time that its samples stand for.
func comparePprof(list *checklist, path string, t *tally, period float64) error {
	samples, err := readPprof(path)
	if err != nil {
		return err
	}
	perSpan, total := make(map[string]int64), int64(0)
	named := true
	for _, s := range samples {
		total += s.ns
		if s.span != "" {
			perSpan[s.span] += s.ns
			named = named && len(s.span) == 16 && len(s.trace) == 32 && s.name == "work"
		}
	}
	different := 0
	for id, count := range t.perSpan {
		if math.Abs(float64(perSpan[id])-float64(count)*period) > period/2 {
			different++
		}
	}
	for id := range perSpan {
		if t.perSpan[id] == 0 {
			different++
		}
	}
	list.check(different == 0, "pprof: the same CPU for each of %d span IDs, %d differ",
		len(perSpan), different)
	whole := float64(t.samples) * period
	list.check(math.Abs(float64(total)-whole) <= 0.001*whole, "pprof: %.3f s of CPU, samples %.3f s",
		float64(total)/1e9, whole/1e9)
	list.check(named, "pprof: labels trace_id, span_id, span_name on every tagged sample")
	return nil
}
