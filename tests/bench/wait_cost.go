// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"
)

const (
	waitBudget  = 1. // percent of a CPU that looking at goroutines may take
	waitSeconds = 8  // lines of each kind in a round
	waitThread  = "spanprof-waits"
	crowdLine   = "p50_us=%f p99_us=%f"
	crowdLasts  = 600             // seconds, at most
	waitStart   = 2 * time.Second // until all have been looked at once
)

// crowds are the goroutines of a process: with a span, and without one.
var crowds = []struct{ spans, idle int }{{10000, 0}, {100, 99900}}

// requestsNow gives the medians of so many whole lines of crowd.
func requestsNow(ctx context.Context, target *program) (p50, p99 float64, err error) {
	var all50, all99 figures
	if err := pause(ctx, settle); err != nil {
		return 0, 0, err
	}
	target.skip()
	for i := range waitSeconds + 1 {
		l, err := target.find("p50_us=")
		if err != nil {
			return 0, 0, err
		}
		if i == 0 {
			continue // begun before
		}
		if _, err := fmt.Sscanf(l.text, crowdLine, &p50, &p99); err != nil {
			return 0, 0, fmt.Errorf("%q: %w", l.text, err)
		}
		all50, all99 = append(all50, p50), append(all99, p99)
	}
	return all50.median(), all99.median(), nil
}

// waitFigures are those of one crowd, by round.
type waitFigures struct {
	p50, p99             [3]figures // µs: without us, without and with looks at what waits
	perLook, share, rate figures    // ns; percent of a CPU, without start and end; passes a second
	ends                 figures    // ms of CPU before and after
	oneIn                figures
}

func (f *waitFigures) take(ctx context.Context, target *program, kind int) error {
	p50, p99, err := requestsNow(ctx, target)
	f.p50[kind] = append(f.p50[kind], p50)
	f.p99[kind] = append(f.p99[kind], p99)
	return err
}

// looks reads what the agent says of them.
func (f *waitFigures) looks(c counters, within time.Duration) error {
	var values [4]float64
	for i, expression := range []string{`(\d+) looks,`, `(\d+) ms CPU`,
		`of late ([\d.]+) a second`, `over one in (\d+) goroutines`} {
		var err error
		if values[i], err = c.find(`waits: .*\b` + expression); err != nil {
			return err
		}
	}
	f.perLook = append(f.perLook, values[1]*1e6/max(1, values[0]))
	f.ends = append(f.ends, values[1]-within.Seconds()*1e3)
	f.rate = append(f.rate, values[2])
	f.oneIn = append(f.oneIn, values[3])
	return nil
}

// watchThread takes figures and tells what the thread that looks uses meanwhile.
func (f *waitFigures) watchThread(ctx context.Context, target, agent *program, kind int) (time.Duration, error) {
	if err := pause(ctx, waitStart); err != nil {
		return 0, err
	}
	before, err := threadCPU(agent.pid(), waitThread)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := f.take(ctx, target, kind); err != nil {
		return 0, err
	}
	after, err := threadCPU(agent.pid(), waitThread)
	f.share = append(f.share, 100*(after-before).Seconds()/time.Since(began).Seconds())
	return after - before, err
}

func (b *bench) waitRound(ctx context.Context, target *program, f *waitFigures) error {
	if err := f.take(ctx, target, 0); err != nil {
		return err
	}
	a, err := b.profile(ctx, target.pid(), "--wait", "off")
	if err != nil {
		return err
	}
	if err := f.take(ctx, target, 1); err != nil {
		return err
	}
	if _, err := a.finish(); err != nil {
		return err
	}
	if a, err = b.profile(ctx, target.pid(), "--wait", "99"); err != nil {
		return err
	}
	within, err := f.watchThread(ctx, target, a.program, 2)
	if err != nil {
		return err
	}
	c, err := a.finish()
	if err != nil {
		return err
	}
	return f.looks(c, within)
}

// waitCost is what looking at waiting goroutines costs the agent and the target's requests.
func waitCost(ctx context.Context, b *bench) error {
	for _, crowd := range crowds {
		target, err := launch(ctx, b.target("crowd"), "-spans", strconv.Itoa(crowd.spans),
			"-idle", strconv.Itoa(crowd.idle), "-seconds", strconv.Itoa(crowdLasts))
		if err != nil {
			return err
		}
		if _, err := target.find("ready"); err != nil {
			return err
		}
		var f waitFigures
		for range b.rounds {
			if err := b.waitRound(ctx, target, &f); err != nil {
				return err
			}
		}
		_, _ = target.stop(syscall.SIGTERM)
		f.print(crowd.spans, crowd.idle)
	}
	return nil
}

func (f *waitFigures) print(spans, idle int) {
	fmt.Printf("  %d goroutines in spans, %d others\n", spans, idle)
	for kind, name := range []string{"without spanprof", "--wait off", "--wait 99"} {
		row("requests, p50 and p99, "+name, "%s and %s µs", f.p50[kind].words("%.0f"),
			f.p99[kind].words("%.0f"))
	}
	row("a look at a goroutine", "%s ns", f.perLook.words("%.0f"))
	row("passes", "%s a second, over one goroutine in %.0f", f.rate.words("%.1f"), f.oneIn.median())
	row("CPU of the thread that looks", "%s %%, %s; at the start and the end %s ms",
		f.share.words("%.2f"), verdict(f.share.median(), waitBudget, "%"), f.ends.words("%.0f"))
}
