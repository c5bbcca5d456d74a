// SPDX-License-Identifier: Apache-2.0

// exact: holds the stacks that spanprof wrote against exact ones, of the same samples.
//
//	exact -program FILE -modes FILE -captures FILE -samples FILE
//	exact -program FILE -offsets
//	exact -keep N …
//
// The program is tests/targets/torture; modes is what it printed, captures what the recorder wrote,
// samples spanprof's -o .jsonl. It prints a line of figures for each mode, and what is wrong by
// kind; it exits 1 when they are worse than its flags allow. -offsets: only
// those of curg and vdsoSP in runtime.m, which the recorder wants. -keep: only "TIME_NS TID" of so many samples of each mode that
// are right, of as many functions as there are.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"

	"spanprof.test/lines"
)

type sample struct {
	TimeNs    uint64   `json:"time_ns"`
	Tid       uint32   `json:"tid"`
	Truncated bool     `json:"truncated"`
	Ended     string   `json:"ended_span"`
	Stack     []string `json:"stack"`
}

type period struct {
	name     string
	from, to uint64
}

func readSamples(r io.Reader) (map[uint32][]sample, error) {
	byThread := map[uint32][]sample{}
	err := lines.Each(r, func(line []byte) error {
		var s sample
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if s.Tid != 0 {
			byThread[s.Tid] = append(byThread[s.Tid], s)
		}
		return nil
	})
	for _, list := range byThread {
		sort.Slice(list, func(i, j int) bool { return list[i].TimeNs < list[j].TimeNs })
	}
	return byThread, err
}

func readModes(r io.Reader) ([]period, error) {
	var all []period
	err := lines.Each(r, func(line []byte) error {
		var p period
		if n, _ := fmt.Sscanf(string(line), "mode %s %d %d", &p.name, &p.from, &p.to); n == 3 {
			all = append(all, p)
		}
		return nil
	})
	return all, err
}

// resolve asks the program itself.
func resolve(program string, stacks [][]uint64) ([][]string, error) {
	var in bytes.Buffer
	for _, pcs := range stacks {
		for _, pc := range pcs {
			fmt.Fprintf(&in, "%x ", pc)
		}
		in.WriteByte('\n')
	}
	command := exec.Command(program, "-resolve")
	command.Stdin, command.Stderr = &in, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, err
	}
	var all [][]string
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		all = append(all, strings.Split(strings.TrimSuffix(lines.Text(), "\t"), "\t"))
	}
	if len(all) != len(stacks) {
		return nil, fmt.Errorf("%d stacks, %d answers", len(stacks), len(all))
	}
	return all, lines.Err()
}

type inputs struct{ program, modes, captures, samples, sums string }

func main() {
	var in inputs
	flag.StringVar(&in.program, "program", "", "the torture program")
	flag.StringVar(&in.modes, "modes", "", "what it printed")
	flag.StringVar(&in.captures, "captures", "", "what the recorder wrote")
	flag.StringVar(&in.samples, "samples", "", "what spanprof wrote (.jsonl)")
	flag.StringVar(&in.sums, "sums", "", "add the counts to those of this file; without a program: judge them")
	limits := limits{}
	flag.Float64Var(&limits.mode, "mode", 99.5, "% of each mode that are right, at least")
	flag.Float64Var(&limits.all, "all", 99.9, "% of all")
	flag.Float64Var(&limits.unknown, "unknown", 0.5, "% without truth, at most")
	shown := flag.Int("show", 3, "kinds of what is wrong, of each mode")
	keep := flag.Int("keep", 0, "only name so many samples of each mode that are right")
	offsets := flag.Bool("offsets", false, "tell where curg and vdsoSP are in runtime.m")
	flag.Parse()
	var err error
	switch {
	case *offsets:
		err = printOffsets(in.program)
	case in.program == "":
		err = judgeSums(in.sums, limits)
	default:
		err = run(in, limits, *shown, *keep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "exact:", err)
		os.Exit(1)
	}
}

func printOffsets(program string) error {
	im, err := openImage(program)
	if err == nil {
		fmt.Println(8*im.offsets.curg, 8*im.offsets.vdsoSP)
	}
	return err
}

func run(in inputs, limits limits, shown, keep int) error {
	im, err := openImage(in.program)
	if err != nil {
		return err
	}
	periods, err := lines.ReadFile(in.modes, readModes)
	if err != nil {
		return err
	}
	j := &judge{im: im, periods: periods, tallies: map[string]*tally{}}
	if j.samples, err = lines.ReadFile(in.samples, readSamples); err != nil {
		return err
	}
	file, err := os.Open(in.captures)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := eachCapture(file, func(c *capture) { j.add(c) }); err != nil {
		return err
	}
	if err := j.compare(in.program); err != nil {
		return err
	}
	if keep > 0 {
		j.printRight(keep)
		return nil
	}
	all := j.report(shown)
	if in.sums != "" {
		if err := addSums(in.sums, all); err != nil {
			return err
		}
	}
	return all.judge(limits)
}
