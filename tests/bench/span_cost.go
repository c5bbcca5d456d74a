// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
)

const (
	sdk          = "go.opentelemetry.io/otel/sdk/trace"
	linesEach    = 2   // seconds of each kind in a round
	spanBudget   = 12. // two probes on first instructions cost so many times more
	spancostLine = "span_ns=%f go_ns=%f go_in_span_ns=%f"
)

// costs are ns of CPU: a Start with its End, a go statement outside and inside a span.
type costs [3]float64

var costNames = [3]string{"Start+End", "go statement outside spans", "go statement in a span"}

// costsNow reads the next whole lines of spancost and gives their medians.
func costsNow(ctx context.Context, target *program) (costs, error) {
	var all [3]figures
	if err := pause(ctx, settle); err != nil {
		return costs{}, err
	}
	target.skip()
	for i := range linesEach + 1 {
		l, err := target.find("span_ns=")
		if err != nil {
			return costs{}, err
		}
		if i == 0 {
			continue // begun before
		}
		var c costs
		if _, err := fmt.Sscanf(l.text, spancostLine, &c[0], &c[1], &c[2]); err != nil {
			return costs{}, fmt.Errorf("%q: %w", l.text, err)
		}
		for k := range c {
			all[k] = append(all[k], c[k])
		}
	}
	return costs{all[0].median(), all[1].median(), all[2].median()}, nil
}

// spanRound gives what is spent without us, with spanprof, and with null probes.
func (b *bench) spanRound(ctx context.Context, target *program, probes string) (without, with, null costs, err error) {
	if without, err = costsNow(ctx, target); err != nil {
		return
	}
	a, err := b.profile(ctx, target.pid())
	if err != nil {
		return
	}
	if with, err = costsNow(ctx, target); err != nil {
		return
	}
	c, err := a.finish()
	if err != nil {
		return
	}
	if started, err2 := c.event("spans_started"); err2 != nil || started == 0 {
		return without, with, null, fmt.Errorf("spanprof saw no span start")
	}
	tracer, err := bpftrace(ctx, probes)
	if err != nil {
		return
	}
	if null, err = costsNow(ctx, target); err != nil {
		return
	}
	_, err = stopTracing(tracer)
	return
}

func spanCost(ctx context.Context, b *bench) error {
	file := b.target("spancost")
	probes, err := nullProbes(file, sdk+".(*tracer).Start", sdk+".(*recordingSpan).End",
		"runtime.newproc1", "runtime.newproc.func1")
	if err != nil {
		return err
	}
	target, err := launch(ctx, file, "-seconds", strconv.Itoa(b.rounds*60))
	if err != nil {
		return err
	}
	if _, err := target.find("ready"); err != nil {
		return err
	}
	var without, with, null, shares [3]figures
	for range b.rounds {
		w, o, n, err := b.spanRound(ctx, target, probes)
		if err != nil {
			return err
		}
		for k := range w {
			without[k] = append(without[k], w[k])
			with[k] = append(with[k], o[k]-w[k])
			null[k] = append(null[k], n[k]-w[k])
			shares[k] = append(shares[k], (n[k]-w[k])/(o[k]-w[k]))
		}
	}
	if _, err := target.stop(syscall.SIGTERM); err != nil {
		return err
	}
	for k, name := range costNames {
		row(name+", alone", "%s ns", without[k].words("%.0f"))
		row("  added by spanprof", "%s ns", with[k].words("%.0f"))
		row("  added by 2 null entry probes", "%s ns", null[k].words("%.0f"))
		row("  times less", "%s", shares[k].words("%.1f"))
	}
	if times := shares[0].median(); times >= spanBudget {
		row("", "a span: budget 1/%g: kept", spanBudget)
	} else {
		row("", "a span: budget 1/%g: MISSED", spanBudget)
	}
	return nil
}
