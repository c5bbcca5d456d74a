// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// figures are the rounds' results of one quantity.
type figures []float64

func (f figures) sorted() figures {
	s := slices.Clone(f)
	slices.Sort(s)
	return s
}

// at gives a quantile, 0 to 1, between the two nearest values.
func (f figures) at(quantile float64) float64 {
	if len(f) == 0 {
		return 0
	}
	s := f.sorted()
	place := quantile * float64(len(s)-1)
	below := int(place)
	if below == len(s)-1 {
		return s[below]
	}
	return s[below] + (s[below+1]-s[below])*(place-float64(below))
}

func (f figures) median() float64 { return f.at(0.5) }

// words are the median and between what the middle half of the rounds lies.
func (f figures) words(format string) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", f.median(), f.at(0.25), f.at(0.75))
}

// verdict compares what was measured with what the design allows; unit may be "".
func verdict(value, budget float64, unit string) string {
	judged := "kept"
	if value > budget {
		judged = "MISSED"
	}
	return strings.TrimSpace(fmt.Sprintf("budget %g %s", budget, unit)) + ": " + judged
}

func row(name, format string, values ...any) {
	fmt.Printf("  %-36s %s\n", name, fmt.Sprintf(format, values...))
}

func scaled(f figures, factor float64) figures {
	s := slices.Clone(f)
	for i := range s {
		s[i] *= factor
	}
	return s
}
