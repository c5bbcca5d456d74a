// SPDX-License-Identifier: Apache-2.0

// bench measures spanprof against the budgets of the design, each figure beside its baseline in
// the same run: the machines at hand are shared and noisy, so what counts is the ratio.
//
//	bench -spanprof FILE -targets DIR [-rounds N] [PART...]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// bench is what every part is given.
type bench struct {
	spanprof string // the program measured
	targets  string // folder of the built shop, spancost, truth, crowd and sink
	work     string // scratch
	rounds   int
}

// parts in the order in which they run.
var parts = []struct {
	name, title string
	run         func(context.Context, *bench) error
	byName      bool // only when it is named
}{
	{"span", "CPU per span and per go statement of the target", spanCost, false},
	{"sdks", "CPU per span, by SDK", sdkCosts, true},
	{"sample", "BPF time per sample", sampleCost, false},
	{"agent", "CPU and memory of the agent", agentCost, false},
	{"waits", "looking at goroutines that wait", waitCost, false},
	{"start", "start to first sample", startTime, false},
	{"wire", "bytes per sample on the wire", wireBytes, false},
	{"symbols", "names of large stripped programs", symbolCost, true},
}

func main() {
	var b bench
	flag.StringVar(&b.spanprof, "spanprof", "build/spanprof", "the program to measure")
	flag.StringVar(&b.targets, "targets", "", "folder with shop, spancost, truth, crowd and sink")
	flag.IntVar(&b.rounds, "rounds", 7, "alternating rounds, 3 at least")
	flag.Parse()
	if err := b.main(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) main(names []string) error {
	if b.rounds < 3 || b.rounds > 100 {
		return fmt.Errorf("%d rounds: 3 to 100", b.rounds)
	}
	chosen := make(map[string]bool)
	for _, name := range names {
		chosen[name] = true
	}
	var err error
	if b.spanprof, err = filepath.Abs(b.spanprof); err != nil {
		return err
	}
	if b.targets, err = filepath.Abs(b.targets); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, children := withChildren(ctx)
	defer func() { stop(); children.Wait() }() // leave nothing running, whatever went wrong
	if b.work, err = os.MkdirTemp("", "spanprof-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	for _, part := range parts {
		if !chosen[part.name] && (part.byName || len(names) > 0) {
			continue
		}
		delete(chosen, part.name)
		fmt.Printf("-- %s: %s (load %s)\n", part.name, part.title, loadAverage())
		if err := part.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	for name := range chosen {
		return fmt.Errorf("no part %q", name)
	}
	return nil
}

func (b *bench) target(name string) string { return filepath.Join(b.targets, name) }

func (b *bench) file(name string) string { return filepath.Join(b.work, name) }

// loadAverage tells the reader how noisy the figures below are.
func loadAverage() string {
	var minute float64
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &minute)
	}
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", minute)
}
