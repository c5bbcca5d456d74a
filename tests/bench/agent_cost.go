// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	warmSeconds  = 3 * time.Second // until most addresses have been named
	agentSeconds = 12 * time.Second
	idleSeconds  = 10 * time.Second
	agentRounds  = 3
	memoryBudget = 24. // MB of resident memory
	mapsBudget   = 16. // MiB of BPF maps
)

// uses are the rounds of one rate.
type uses struct{ perSample, start, resident, maps, mapsTold figures }

// progress is what an agent has used, and for how many samples.
func progress(a *agent) (cpu time.Duration, samples float64, err error) {
	if cpu, err = cpuNow(a.pid()); err != nil {
		return 0, 0, err
	}
	samples, err = samplesNow(a.pid())
	return cpu, samples, err
}

// long measures a run between its start and its report, and what memory it took.
func (u *uses) long(ctx context.Context, b *bench, pid, hertz int) error {
	a, err := b.profile(ctx, pid, "-F", strconv.Itoa(hertz))
	if err != nil {
		return err
	}
	if err := pause(ctx, warmSeconds); err != nil {
		return err
	}
	cpu, samples, err := progress(a)
	if err != nil {
		return err
	}
	if err := pause(ctx, agentSeconds); err != nil {
		return err
	}
	cpuEnd, samplesEnd, err := progress(a)
	if err != nil {
		return err
	}
	if samplesEnd-samples < 50 {
		return fmt.Errorf("only %.0f samples", samplesEnd-samples)
	}
	u.perSample = append(u.perSample,
		float64((cpuEnd-cpu).Nanoseconds())/1e3/(samplesEnd-samples))
	maps, err := mapBytes(a.pid())
	if err != nil {
		return err
	}
	u.maps = append(u.maps, maps/(1<<20))
	c, err := a.finish()
	if err != nil {
		return err
	}
	resident, err := c.find(`(\d+) KiB peak`)
	if err != nil {
		return err
	}
	u.resident = append(u.resident, resident*1024/1e6)
	told, err := c.find(`maps (\d+) KiB`)
	u.mapsTold = append(u.mapsTold, told/1024)
	return err
}

// short is a run of one second: start, report and end.
func (u *uses) short(ctx context.Context, b *bench, pid, hertz int) error {
	a, err := b.profile(ctx, pid, "-F", strconv.Itoa(hertz))
	if err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if _, err := a.finish(); err != nil {
		return err
	}
	u.start = append(u.start, a.cpu().Seconds()*1e3)
	return nil
}

func (b *bench) measureRate(ctx context.Context, target *service, hertz int, budget float64) error {
	var u uses
	for range max(agentRounds, b.rounds/2) {
		if err := u.short(ctx, b, target.pid(), hertz); err != nil {
			return err
		}
		if err := u.long(ctx, b, target.pid(), hertz); err != nil {
			return err
		}
	}
	at := fmt.Sprintf("%d Hz: ", hertz)
	row(at+"agent CPU per sample", "%s us; %s", u.perSample.words("%.0f"),
		verdict(u.perSample.median(), budget, "us"))
	row(at+"CPU of a 1 s run, start and end", "%s ms", u.start.words("%.0f"))
	row(at+"resident memory, peak", "%s MB; %s", u.resident.words("%.1f"),
		verdict(u.resident.median(), memoryBudget, "MB"))
	row(at+"BPF maps", "%.1f MiB, spanprof tells %.1f; %s", u.maps.median(),
		u.mapsTold.median(), verdict(u.maps.median(), mapsBudget, "MiB"))
	return nil
}

// idle gives the share of a core that spanprof takes when what it profiles does nothing.
func (b *bench) idle(ctx context.Context) error {
	target, err := b.startShop(ctx)
	if err != nil {
		return err
	}
	a, err := b.profile(ctx, target.pid())
	if err != nil {
		return err
	}
	var shares figures
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	for range agentRounds {
		before, err := cpuNow(a.pid())
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := pause(ctx, idleSeconds); err != nil {
			return err
		}
		after, err := cpuNow(a.pid())
		if err != nil {
			return err
		}
		shares = append(shares, float64(after-before)/float64(time.Since(begin))*100)
	}
	row("idle target, share of a core", "%s %%; %s", shares.words("%.3f"),
		verdict(shares.median(), 0.1, "%"))
	if _, err := a.finish(); err != nil {
		return err
	}
	return target.end()
}

func agentCost(ctx context.Context, b *bench) error {
	target, err := b.startShop(ctx)
	if err != nil {
		return err
	}
	if err := target.load(ctx, b, 4); err != nil {
		return err
	}
	for _, rate := range []struct {
		hertz  int
		budget float64
	}{{99, 30}, {19, 100}} {
		if err := b.measureRate(ctx, target, rate.hertz, rate.budget); err != nil {
			return err
		}
	}
	if err := target.end(); err != nil {
		return err
	}
	return b.idle(ctx)
}
