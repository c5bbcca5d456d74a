// SPDX-License-Identifier: Apache-2.0

// The command "truth": judges a run against the truth program and prints the figures.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"sort"
	"time"
)

type limits struct {
	right, stacks, slope, between float64
	samples                       int
}

func verifyTruth(args []string) error {
	flags := flag.NewFlagSet("truth", flag.ExitOnError)
	truthPath := flags.String("truth", "", "truth file of the program")
	samplesPath := flags.String("samples", "", "samples file of spanprof (.jsonl)")
	pprofPath := flags.String("pprof", "", "pprof file of the same run (optional)")
	hertz := flags.Float64("freq", 199, "sampling frequency in Hz")
	settle := flags.Duration("settle", time.Second,
		"spans that began earlier than this after the first sample are not judged")
	var limit limits
	flags.Float64Var(&limit.right, "min-right", 0.999, "least share of samples with the right span")
	flags.Float64Var(&limit.stacks, "min-stacks", 0.999, "least share of exact stacks")
	flags.Float64Var(&limit.slope, "slope", 0.03, "most that the CPU slope may differ from 1")
	flags.Float64Var(&limit.between, "max-between", 0.02, "most samples between slots, as a share")
	flags.IntVar(&limit.samples, "min-samples", 500, "least number of samples")
	if err := flags.Parse(args); err != nil {
		return err
	}
	known, err := readFile(*truthPath, readTruth)
	if err != nil {
		return err
	}
	samples, err := readFile(*samplesPath, func(r io.Reader) ([]sample, error) {
		return readSamples(r, known)
	})
	if err != nil {
		return err
	}
	if len(samples) < max(limit.samples, 1) {
		return fmt.Errorf("%d samples of pid %d, at least %d are needed", len(samples), known.Pid,
			limit.samples)
	}
	return judge(known, samples, limit, settle.Nanoseconds(), 1e9 / *hertz, *pprofPath)
}

func judge(known *truth, samples []sample, limit limits, settle int64, period float64,
	pprofPath string) error {
	t := match(known, samples, settle)
	first, last := samples[0].Time, samples[len(samples)-1].Time
	cpu := regress(known, t, first+settle, last, period)

	fmt.Printf("%d samples in %.1f s, %s, %d spans issued\n", t.samples, float64(last-first)/1e9,
		known.Go, len(known.spans))
	var list checklist
	judged := t.right + t.wrong
	list.check(share(t.right, judged) >= limit.right && t.inside > 0 && t.outside > 0,
		"right span: %s of %d (inside %s of %d, outside %s of %d), %d wrong",
		percent(t.right, judged), judged, percent(t.insideRight, t.inside), t.inside,
		percent(t.outsideRight, t.outside), t.outside, t.wrong)
	list.check(t.unknown == 0, "IDs never issued: %d", t.unknown)
	list.check(share(t.inheritedWrong, t.insideRight) <= 1-limit.right,
		"own or inherited told apart: %s", percent(t.inheritedRight, t.insideRight))
	// On a busy machine a short run has too few samples for the limit.
	list.check(math.Abs(cpu.slope-1) <= max(limit.slope, 3*cpu.uncertainty) && cpu.n > 0,
		"CPU per span ID: slope %.4f ± %.4f over %d spans, correlation %.4f", cpu.slope,
		cpu.uncertainty, cpu.n, cpu.correlation)
	list.check(share(t.stacksRight, t.stacks) >= limit.stacks && t.stacks > 0,
		"stacks frame by frame: %s of %d, %d of them under runtime or kernel frames",
		percent(t.stacksRight, t.stacks), t.stacks, t.foreign)
	list.check(share(t.aboveLeaf, t.stacks) <= 0.005, "innermost frame not seen: %s",
		percent(t.aboveLeaf, t.stacks))
	list.check(share(t.between, t.samples) <= limit.between,
		"between slots: %d (%s), %d of them tagged with a span open there", t.between,
		percent(t.between, t.samples), t.nearby)
	list.check(share(t.scheduler, t.samples) <= 0.01,
		"on no goroutine: %d (%s) in slots, %d between", t.scheduler,
		percent(t.scheduler, t.samples), t.idle)
	fmt.Printf("        spans older than the first second: %d samples, not judged\n", t.older)
	if pprofPath != "" {
		if err := comparePprof(&list, pprofPath, t, period); err != nil {
			return err
		}
	}
	printKinds(&list, known, t, limit, period)
	printReasons(t)
	return list.result()
}

// printKinds checks that every kind was seen, with its share of leaves and its CPU.
func printKinds(list *checklist, known *truth, t *tally, limit limits, period float64) {
	fmt.Printf("  %-22s %8s %8s %8s %8s %8s\n", "kind", "samples", "right", "stacks", "leaf",
		"cpu")
	for i := range known.Kinds {
		name, k := known.Kinds[i].Name, &t.perKind[i]
		fmt.Printf("  %-22s %8d %8s %8s %8s %8.3f\n", name, k.samples,
			percent(k.right, k.samples), percent(k.stackGood, k.stacks),
			percent(k.leaf, k.stacks), float64(k.samples)*period/float64(max(k.cpu, 1)))
		if name == "leaf" || name == "inline" {
			// A lost frameless leaf or inlined frame leaves a plausible stack behind. Without
			// optimization the loop around the latter takes more time than it does.
			list.check(k.leaf*20 > k.stacks, "samples of %s show its innermost frame", name)
		}
		if k.samples == 0 && k.cpu > int64(20*period) {
			list.check(false, "no sample of %s", name)
		}
	}
}

func printReasons(t *tally) {
	type reason struct {
		text  string
		count int
	}
	var reasons []reason
	for text, count := range t.reasons {
		reasons = append(reasons, reason{text, count})
	}
	sort.Slice(reasons, func(i, j int) bool { return reasons[i].count > reasons[j].count })
	for i, r := range reasons {
		if i == 20 {
			fmt.Printf("  … and %d more reasons\n", len(reasons)-i)
			break
		}
		fmt.Printf("  %5d × %s\n", r.count, r.text)
	}
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*share(part, whole))
}
