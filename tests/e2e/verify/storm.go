// SPDX-License-Identifier: Apache-2.0

// Whether each stack of goroutines that hurry from one place to another is one that exists.
package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// stormPlaces are where the waits program's stormers wait, from the root inward, by reason.
var stormPlaces = map[string][]string{
	"chan receive": {"span", "receiving", "deeper", "deeper", "deeper", "deeper", "receives"},
	"select":       {"span", "selecting", "selects"},
}

// stormFunctions are a stack's own ones, from the root inward.
func stormFunctions(s *profile.Sample) (names []string) {
	for _, l := range slices.Backward(s.Location) {
		for _, line := range slices.Backward(l.Line) {
			if name, found := strings.CutPrefix(line.Function.Name, "main.(*stormer)."); found {
				names = append(names, name)
			}
		}
	}
	return names
}

// exists tells whether a goroutine can stand so: parked in one of two places, or on its way.
func exists(state string, functions []string) bool {
	if place, found := stormPlaces[state]; found {
		return slices.Equal(place, functions)
	}
	for _, place := range stormPlaces {
		if len(functions) <= len(place) && slices.Equal(place[:len(functions)], functions) {
			return true
		}
	}
	return false
}

func verifyStorm(args []string) error {
	flags := flag.NewFlagSet("storm", flag.ExitOnError)
	pprofPath := flags.String("pprof", "", "spanprof's pprof file")
	most := flags.Float64("wrong", 0.01, "percent of the time seen that may be in stacks that do not exist")
	flags.Parse(args)
	p, err := parsePprof(*pprofPath)
	if err != nil {
		return err
	}
	var c checklist
	var all, parked, wrong int64
	off := typeIndex(p, "off_cpu")
	for _, s := range p.Sample {
		if off < 0 || s.Value[off] == 0 || len(s.Label["span_id"]) == 0 {
			continue
		}
		state, functions := stateOf(s), stormFunctions(s)
		all += s.Value[off]
		if stormPlaces[state] != nil {
			parked += s.Value[off]
		}
		if !exists(state, functions) {
			wrong += s.Value[off]
			fmt.Printf("        %d µs %s in %v\n", s.Value[off]/1000, state, functions)
		}
	}
	c.check(parked > 1e9, "%.1f s seen, %.1f s of it parked", float64(all)/1e9, float64(parked)/1e9)
	share := 100 * float64(wrong) / float64(max(1, all))
	c.check(share <= *most, "%.4f %% of it in stacks that do not exist", share)
	return c.result()
}
