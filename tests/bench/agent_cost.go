// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	agentSeconds = 12 * time.Second
	idleSeconds  = 10 * time.Second
	agentRounds  = 3
	memoryBudget = 24. // MB of resident memory
	mapsBudget   = 16. // MiB of BPF maps
)

// use is what one run of spanprof took.
type use struct {
	cpu                       time.Duration
	samples                   float64
	residentBytes, mapBytes   float64
	mapBytesAsSpanprofTellsIt float64
}

// used profiles a process for so long.
func (b *bench) used(ctx context.Context, pid, hertz int, length time.Duration) (use, error) {
	a, err := b.profile(ctx, pid, "-F", strconv.Itoa(hertz))
	if err != nil {
		return use{}, err
	}
	if err := pause(ctx, length); err != nil {
		return use{}, err
	}
	var u use
	if u.mapBytes, err = mapBytes(a.pid()); err != nil {
		return use{}, err
	}
	c, err := a.finish()
	if err != nil {
		return use{}, err
	}
	u.cpu = a.cpu()
	if u.samples, err = c.event("samples"); err != nil {
		return use{}, err
	}
	if u.residentBytes, err = c.find(`(\d+) KiB peak`); err != nil {
		return use{}, err
	}
	u.mapBytesAsSpanprofTellsIt, err = c.find(`maps (\d+) KiB`)
	u.residentBytes *= 1024
	u.mapBytesAsSpanprofTellsIt *= 1024
	return u, err
}

// perSample alternates long runs with short ones, whose CPU is that of starting and reporting.
func (b *bench) perSample(ctx context.Context, target *service, hertz int, budget float64) error {
	var each, start, resident, maps figures
	var told float64
	for range max(agentRounds, b.rounds/2) {
		short, err := b.used(ctx, target.pid(), hertz, time.Second)
		if err != nil {
			return err
		}
		long, err := b.used(ctx, target.pid(), hertz, agentSeconds)
		if err != nil {
			return err
		}
		if long.samples < 2*short.samples {
			return fmt.Errorf("%.0f samples in the long run, %.0f in the short one", long.samples,
				short.samples)
		}
		each = append(each, float64((long.cpu-short.cpu).Nanoseconds())/1e3/
			(long.samples-short.samples))
		start = append(start, short.cpu.Seconds()*1e3)
		resident = append(resident, long.residentBytes/1e6)
		maps = append(maps, long.mapBytes/(1<<20))
		told = long.mapBytesAsSpanprofTellsIt / (1 << 20)
	}
	at := fmt.Sprintf("%d Hz: ", hertz)
	row(at+"agent CPU per sample", "%s us; %s", each.words("%.0f"), verdict(each.median(), budget, "us"))
	row(at+"CPU of a 1 s run", "%s ms", start.words("%.0f"))
	row(at+"resident memory, peak", "%s MB; %s", resident.words("%.1f"),
		verdict(resident.median(), memoryBudget, "MB"))
	row(at+"BPF maps", "%.1f MiB, spanprof tells %.1f; %s", maps.median(), told,
		verdict(maps.median(), mapsBudget, "MiB"))
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
		if err := b.perSample(ctx, target, rate.hertz, rate.budget); err != nil {
			return err
		}
	}
	if err := target.end(); err != nil {
		return err
	}
	return b.idle(ctx)
}
