// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"go/version"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// differences are what was measured round by round.
type differences struct {
	without [len(costNames)]figures // ns
	added   [len(costNames)]figures // ns, by spanprof
	null    [len(costNames)]figures // ns, by null probes
	times   [len(costNames)]figures // what spanprof takes less
}

// spanCosts measures one build of spancost.
func (b *bench) spanCosts(ctx context.Context, file string) (d differences, err error) {
	end, err := endOfSpans(file)
	if err != nil {
		return
	}
	probes, err := nullProbes(file, sdk+".(*tracer).Start", end, "runtime.newproc1",
		"runtime.newproc.func1")
	if err != nil {
		return
	}
	target, err := launch(ctx, file, "-seconds", strconv.Itoa(b.rounds*60))
	if err != nil {
		return
	}
	if _, err = target.find("ready"); err != nil {
		return
	}
	for range b.rounds {
		w, o, n, err := b.spanRound(ctx, target, probes)
		if err != nil {
			return d, err
		}
		for k := range w {
			d.without[k] = append(d.without[k], w[k])
			d.added[k] = append(d.added[k], o[k]-w[k])
			d.null[k] = append(d.null[k], n[k]-w[k])
			d.times[k] = append(d.times[k], (n[k]-w[k])/(o[k]-w[k]))
		}
	}
	_, err = target.stop(syscall.SIGTERM)
	return
}

// endOfSpans is the function by which a program's spans end: SDKs before 1.3 have one type of them.
func endOfSpans(file string) (string, error) {
	for _, name := range []string{sdk + ".(*recordingSpan).End", sdk + ".(*span).End"} {
		if _, err := address(file, name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s has no function that ends spans", file)
}

func spanCost(ctx context.Context, b *bench) error {
	d, err := b.spanCosts(ctx, b.target("spancost"))
	if err != nil {
		return err
	}
	for k, name := range costNames {
		row(name+", alone", "%s ns", d.without[k].words("%.0f"))
		row("  added by spanprof", "%s ns", d.added[k].words("%.0f"))
		row("  added by 2 null entry probes", "%s ns", d.null[k].words("%.0f"))
		row("  times less", "%s", d.times[k].words("%.1f"))
	}
	row("", "a span: budget 1/%g: %s", spanBudget, d.spanVerdict())
	return nil
}

func (d *differences) spanVerdict() string {
	if d.times[0].median() >= spanBudget {
		return "kept"
	}
	return "MISSED"
}

// sdkCosts measures a span with each SDK that spancost was built with.
func sdkCosts(ctx context.Context, b *bench) error {
	files, err := filepath.Glob(b.target("sdk-*"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no %s", b.target("sdk-*"))
	}
	release := func(file string) string { _, v, _ := strings.Cut(filepath.Base(file), "-"); return v }
	slices.SortFunc(files, func(a, b string) int {
		return version.Compare("go"+release(a), "go"+release(b))
	})
	row("", "alone, added by spanprof and by 2 null entry probes: ns")
	for _, file := range files {
		d, err := b.spanCosts(ctx, file)
		if err != nil {
			return fmt.Errorf("SDK %s: %w", release(file), err)
		}
		row("SDK "+release(file), "%.0f, %s, %.0f: 1/%s, %s", d.without[0].median(),
			d.added[0].words("%.0f"), d.null[0].median(), d.times[0].words("%.1f"), d.spanVerdict())
	}
	return nil
}
