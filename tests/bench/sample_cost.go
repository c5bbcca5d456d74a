// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

const sampleSeconds = 3 * time.Second

// ticks is one tool's programs over some seconds: a tick that meets another process ends at once.
type ticks struct {
	runs
	samples float64 // of all ticks those in the target
}

// perSample takes the ticks of other processes away, each at what it cost when there were only such.
func (t ticks) perSample(other float64) float64 {
	return (t.nanoseconds - (t.count-t.samples)*other) / t.samples
}

// ourTicks profiles a process with spanprof.
func (b *bench) ourTicks(ctx context.Context, pid int) (ticks, error) {
	a, err := b.profile(ctx, pid, "-F", "99")
	if err != nil {
		return ticks{}, err
	}
	if err := pause(ctx, sampleSeconds); err != nil {
		return ticks{}, err
	}
	t := ticks{}
	if t.runs, err = programRuns(a.pid(), perfEventProgram); err != nil {
		return t, err
	}
	c, err := a.finish()
	if err != nil {
		return t, err
	}
	samples, err := c.event("samples")
	if err != nil {
		return t, err
	}
	all, err := c.event("clock_ticks")
	t.samples = samples * t.count / all
	return t, err
}

// theirTicks counts a process's stacks with bpftrace, which need not name them at its end.
func theirTicks(ctx context.Context, pid int) (ticks, error) {
	p, err := launch(ctx, "bpftrace", "-e", fmt.Sprintf(
		"profile:hz:99 /pid == %d/ { @[ustack, kstack] = count(); } END { clear(@); }", pid))
	if err != nil {
		return ticks{}, err
	}
	limit := time.Now().Add(startLimit)
	for {
		r, err := programRuns(p.pid(), perfEventProgram)
		if err == nil && r.count > 0 {
			break
		}
		if time.Now().After(limit) {
			return ticks{}, fmt.Errorf("bpftrace does not start:\n%s", p.output())
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return ticks{}, err
		}
	}
	if err := pause(ctx, sampleSeconds); err != nil {
		return ticks{}, err
	}
	t := ticks{}
	if t.runs, err = programRuns(p.pid(), perfEventProgram); err != nil {
		return t, err
	}
	if t.samples, err = sumOfCounts(p.pid()); err != nil {
		return t, err
	}
	_, err = stopTracing(p)
	return t, err
}

// tickCosts are one round: both tools on the target, and on a process that never runs beside it.
type tickCosts struct{ ours, theirs, oursElsewhere, theirsElsewhere ticks }

func (b *bench) tickRound(ctx context.Context, target, idle *service) (c tickCosts, err error) {
	if c.ours, err = b.ourTicks(ctx, target.pid()); err != nil {
		return c, err
	}
	if c.theirs, err = theirTicks(ctx, target.pid()); err != nil {
		return c, err
	}
	if c.ours.samples < 50 || c.theirs.samples < 50 {
		return c, fmt.Errorf("only %.0f and %.0f samples", c.ours.samples, c.theirs.samples)
	}
	if c.oursElsewhere, err = b.ourTicks(ctx, idle.pid()); err != nil {
		return c, err
	}
	c.theirsElsewhere, err = theirTicks(ctx, idle.pid())
	return c, err
}

func (b *bench) compareSamples(ctx context.Context, name string, target, idle *service) error {
	var ours, theirs, shares, oursElsewhere, theirsElsewhere, inTarget figures
	var rounds []tickCosts
	for range b.rounds {
		c, err := b.tickRound(ctx, target, idle)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rounds = append(rounds, c)
		oursElsewhere = append(oursElsewhere, c.oursElsewhere.nanoseconds/c.oursElsewhere.count)
		theirsElsewhere = append(theirsElsewhere,
			c.theirsElsewhere.nanoseconds/c.theirsElsewhere.count)
		inTarget = append(inTarget, c.ours.samples/c.ours.count*100)
	}
	for _, c := range rounds {
		o := c.ours.perSample(oursElsewhere.median())
		t := c.theirs.perSample(theirsElsewhere.median())
		ours, theirs, shares = append(ours, o/1e3), append(theirs, t/1e3), append(shares, o/t)
	}
	row(name+": a sample, spanprof", "%s us", ours.words("%.1f"))
	row("  bpftrace ustack+kstack", "%s us", theirs.words("%.1f"))
	row("  spanprof / bpftrace", "%s; %s", shares.words("%.2f"), verdict(shares.median(), 1, ""))
	row("  a tick elsewhere, spanprof", "%s us, bpftrace %.1f; %.0f %% of ticks in the target",
		scaled(oursElsewhere, 1e-3).words("%.1f"), theirsElsewhere.median()/1e3, inTarget.median())
	return nil
}

func sampleCost(ctx context.Context, b *bench) error {
	restore, err := countRuns()
	if err != nil {
		return err
	}
	defer restore()
	idle, err := b.startShop(ctx)
	if err != nil {
		return err
	}
	shop, err := b.startShop(ctx)
	if err != nil {
		return err
	}
	if err := shop.load(ctx, b, 4); err != nil {
		return err
	}
	if err := b.compareSamples(ctx, "shop", shop, idle); err != nil {
		return err
	}
	if err := shop.end(); err != nil {
		return err
	}
	truth, err := b.startTruth(ctx)
	if err != nil {
		return err
	}
	if err := b.compareSamples(ctx, "truth", truth, idle); err != nil {
		return err
	}
	if err := truth.end(); err != nil {
		return err
	}
	return idle.end()
}
