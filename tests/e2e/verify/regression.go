// SPDX-License-Identifier: Apache-2.0

// CPU time by samples against CPU time by the thread clock, per span ID and per kind.
package main

import "math"

// line is a regression through the origin.
type line struct {
	n           int
	slope       float64
	uncertainty float64 // standard error of the slope
	correlation float64
}

func fit(x, y []float64) line {
	var xx, xy, sx, sy, yy float64
	for i := range x {
		xx += x[i] * x[i]
		xy += x[i] * y[i]
		yy += y[i] * y[i]
		sx += x[i]
		sy += y[i]
	}
	n := float64(len(x))
	result := line{n: len(x)}
	if xx > 0 {
		result.slope = xy / xx
	}
	if n > 1 && xx > 0 {
		// Long spans are counted less exactly than short ones, so every residual has its own weight
		// (White's estimate): one variance for all would promise up to twice the precision.
		var weighted float64
		for i := range x {
			residual := x[i] * (y[i] - result.slope*x[i])
			weighted += residual * residual
		}
		result.uncertainty = math.Sqrt(weighted*n/(n-1)) / xx
	}
	if d := (n*xx - sx*sx) * (n*yy - sy*sy); d > 0 {
		result.correlation = (n*xy - sx*sy) / math.Sqrt(d)
	}
	return result
}

// regress fits the sampled CPU time of every span that lies wholly inside the sampled time to what
// the thread clock says. It also fills in the kinds' CPU time of that stretch.
func regress(known *truth, t *tally, from, to int64, period float64) line {
	cpu := make(map[string]int64)
	for _, list := range known.slots {
		for i := range list {
			w := &list[i]
			if w.Span != "" {
				cpu[w.Span] += w.CPU
			}
			began := w.Begin
			if w.Span != "" {
				began = known.spans[w.Span].Start[0]
			}
			switch {
			case w.Begin < t.first || w.Finish > to:
			case began < from && w.Span != "":
				t.perKind[w.Kind].olderCPU += w.CPU
			case began >= from:
				t.perKind[w.Kind].cpu += w.CPU
			}
		}
	}
	var x, y []float64
	for id, ns := range cpu {
		issued := known.spans[id]
		last := issued.End[1]
		if last == 0 {
			last = lastWork(known, id)
		}
		if issued.Start[0] < from || last > to {
			continue
		}
		x = append(x, float64(ns))
		y = append(y, float64(t.perSpan[id])*period)
	}
	return fit(x, y)
}

// lastWork is when a span that was never ended was last worked for.
func lastWork(known *truth, id string) (last int64) {
	for _, list := range known.slots {
		for i := range list {
			if list[i].Span == id {
				last = max(last, list[i].Finish)
			}
		}
	}
	return last
}
