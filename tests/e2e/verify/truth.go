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

	"spanprof.test/lines"
)

type limits struct {
	right, stacks, slope, between, stolen float64
	samples, wrong                        int
}

func verifyTruth(args []string) error {
	flags := flag.NewFlagSet("truth", flag.ExitOnError)
	truthPath := flags.String("truth", "", "truth file of the program")
	samplesPath := flags.String("samples", "", "samples file of spanprof (.jsonl)")
	pprofPath := flags.String("pprof", "", "pprof file of the same run (optional)")
	hertz := flags.Float64("freq", 199, "sampling frequency in Hz")
	settle := flags.Duration("settle", time.Second,
		"spans that began earlier than this after the first sample are older than the attach")
	var limit limits
	var r rules
	flags.BoolVar(&r.judgeOlder, "older", false, "judge spans older than the attach as all others")
	flags.IntVar(&r.show, "show", 0, "describe so many samples that are not right")
	flags.IntVar(&limit.wrong, "max-wrong", -1, "most samples with a wrong span; -1: see -min-right")
	flags.Float64Var(&limit.right, "min-right", 0.999, "least share of samples with the right span")
	flags.Float64Var(&limit.stacks, "min-stacks", 0.999, "least share of exact stacks")
	flags.Float64Var(&limit.slope, "slope", 0.03, "most that the CPU slope may differ from 1")
	flags.Float64Var(&limit.stolen, "stolen", 0,
		"share of its CPU time that the machine's host took: threads' clocks leave it out")
	flags.Float64Var(&limit.between, "max-between", 0.02, "most samples between slots, as a share")
	flags.IntVar(&limit.samples, "min-samples", 500, "least number of samples")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.settle = settle.Nanoseconds()
	known, err := lines.ReadFile(*truthPath, readTruth)
	if err != nil {
		return err
	}
	samples, err := lines.ReadFile(*samplesPath, func(r io.Reader) ([]sample, error) {
		return readSamples(r, known)
	})
	if err != nil {
		return err
	}
	if len(samples) < max(limit.samples, 1) {
		return fmt.Errorf("%d samples of pid %d, at least %d are needed", len(samples), known.Pid,
			limit.samples)
	}
	return judge(known, samples, limit, r, 1e9 / *hertz, *pprofPath)
}

// isSlopeRight: on a busy machine a short run has too few samples for the limit, and samples are
// taken in the time, too, that the host takes from a virtual machine.
func isSlopeRight(cpu line, limit limits) bool {
	most := max(limit.slope, 3*cpu.uncertainty)
	return cpu.slope >= 1-most && cpu.slope <= (1+most)/(1-min(limit.stolen, 0.5))
}

// isLeafSeen: in slots there is little else than the innermost loop. What a host takes it gives back
// where it took it: in part where the kernel was called.
func isLeafSeen(t *tally, limit limits) bool {
	expected := (0.005 + 0.05*limit.stolen) * float64(t.stacks)
	return float64(t.aboveLeaf) <= expected+3*math.Sqrt(expected)
}

func judge(known *truth, samples []sample, limit limits, r rules, period float64,
	pprofPath string) error {
	t := match(known, samples, r)
	last := samples[len(samples)-1].Time
	cpu := regress(known, t, t.first+t.settle, last, period)

	fmt.Printf("%d samples in %.1f s, %s, %d spans issued\n", t.samples, float64(last-t.first)/1e9,
		known.Go, len(known.spans))
	var list checklist
	checkSpans(&list, t, limit)
	list.check(isSlopeRight(cpu, limit) && cpu.n > 0,
		"CPU per span ID: slope %.4f ± %.4f over %d spans, correlation %.4f; stolen %.2f %%",
		cpu.slope, cpu.uncertainty, cpu.n, cpu.correlation, 100*limit.stolen)
	list.check(share(t.stacksRight, t.stacks) >= limit.stacks && t.stacks > 0,
		"stacks frame by frame: %s of %d, %d of them under runtime or kernel frames",
		percent(t.stacksRight, t.stacks), t.stacks, t.foreign)
	list.check(isLeafSeen(t, limit), "innermost frame not seen: %s", percent(t.aboveLeaf, t.stacks))
	list.check(share(t.between, t.samples) <= limit.between,
		"between slots: %d (%s), %d of them tagged with a span open there", t.between,
		percent(t.between, t.samples), t.nearby)
	list.check(share(t.scheduler, t.samples) <= 0.01,
		"on no goroutine: %d (%s) in slots, %d between", t.scheduler,
		percent(t.scheduler, t.samples), t.idle)
	if pprofPath != "" {
		if err := comparePprof(&list, pprofPath, t, period); err != nil {
			return err
		}
	}
	printKinds(&list, known, t, period)
	printReasons(t)
	return list.result()
}

// checkSpans prints the figures on span IDs. A total of all judged samples comes last, in the form
// that matrix.sh reads.
func checkSpans(list *checklist, t *tally, limit limits) {
	all, spans := t.judged(), t.inSpans()
	// Of samples in spans for themselves, too: work outside must not make up for them.
	list.check(share(all.right, all.total()) >= limit.right && t.outside.total() > 0 &&
		share(spans.right, spans.total()) >= limit.right && t.inside.total() > 0,
		"right span: %s of %d (inside %s of %d, outside %s of %d)",
		percent(all.right, all.total()), all.total(), percent(spans.right, spans.total()),
		spans.total(), percent(t.outside.right, t.outside.total()), t.outside.total())
	list.check(limit.wrong < 0 || all.wrong <= limit.wrong,
		"not right: %d with a wrong span, %d untagged", all.wrong, all.untagged)
	list.check(t.unknown == 0, "IDs never issued: %d", t.unknown)
	list.check(share(t.inheritedWrong, t.inside.right) <= 1-limit.right,
		"own or inherited told apart: %s", percent(t.inheritedRight, t.inside.right))
	verdict := "not judged"
	if t.judgeOlder {
		verdict = "judged like all"
	}
	fmt.Printf("        spans older than the attach (%s): %d right, %d wrong, %d untagged;"+
		" nobody can know: %d untagged\n", verdict, t.older.right, t.older.wrong,
		t.older.untagged, t.unaware.untagged)
	fmt.Printf("        total: samples %d right %d wrong %d untagged %d share %.3f\n", t.samples,
		all.right, all.wrong, all.untagged, 100*share(spans.right, spans.total()))
}

// printKinds checks that every kind was seen, with its share of leaves and its CPU.
func printKinds(list *checklist, known *truth, t *tally, period float64) {
	fmt.Printf("  %-22s %8s %8s %6s %8s %8s %8s %8s\n", "kind", "samples", "right", "wrong",
		"untagged", "stacks", "leaf", "cpu")
	for i := range known.Kinds {
		name, k := known.Kinds[i].Name, &t.perKind[i]
		count := k.spans.total()
		if count == 0 && k.cpu > int64(20*period) ||
			k.older.total() == 0 && k.olderCPU > int64(20*period) {
			list.check(false, "no sample of %s", name)
		}
		if count == 0 {
			continue
		}
		fmt.Printf("  %-22s %8d %8s %6d %8d %8s %8s %8.3f\n", name, count,
			percent(k.spans.right, count), k.spans.wrong, k.spans.untagged,
			percent(k.stackGood, k.stacks), percent(k.leaf, k.stacks),
			float64(count)*period/float64(max(k.cpu, 1)))
		if name == "leaf" || name == "inline" {
			// A lost frameless leaf or inlined frame leaves a plausible stack behind. Without
			// optimization the loop around the latter takes more time than it does.
			list.check(k.leaf*20 > k.stacks, "samples of %s show its innermost frame", name)
		}
	}
	fmt.Printf("  in spans older than the attach:\n")
	for i := range known.Kinds {
		if k := &t.perKind[i]; k.older.total() > 0 {
			count := k.older.total()
			fmt.Printf("  %-22s %8d %8s %6d %8d %26.3f\n", known.Kinds[i].Name, count,
				percent(k.older.right, count), k.older.wrong, k.older.untagged,
				float64(count)*period/float64(max(k.olderCPU, 1)))
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
	for _, text := range t.shown {
		fmt.Printf("  %s\n", text)
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
