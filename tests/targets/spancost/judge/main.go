// SPDX-License-Identifier: Apache-2.0

// judge holds the tags of samples against what spancost was at work for.
//
//	judge -truth FILE -samples FILE [-cut NAME=NANOSECONDS]...
//
// Each -cut begins a stretch of the run at that time of the wall clock, for which figures are
// printed. It exits 1 when a tag is wrong, or when a span's end is told of twice.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"spanprof.test/lines"
)

// stretch is a part of the run, up to the next one.
type stretch struct {
	name  string
	begin int64 // on the wall clock
}

func main() {
	truthPath := flag.String("truth", "", "what spancost did")
	samplesPath := flag.String("samples", "", "samples of spanprof (.jsonl)")
	show := flag.Int("show", 10, "describe so many wrong ones")
	stretches := []stretch{{name: "at first"}}
	flag.Func("cut", "a stretch begins: NAME=NANOSECONDS", func(text string) error {
		name, at, _ := strings.Cut(text, "=")
		begin, err := strconv.ParseInt(at, 10, 64)
		stretches = append(stretches, stretch{name, begin})
		return err
	})
	flag.Parse()
	known, err := lines.ReadFile(*truthPath, readTruth)
	exitOn(err)
	is, err := lines.ReadFile(*samplesPath, func(r io.Reader) (told, error) {
		return readTold(r, known.Pid)
	})
	exitOn(err)
	right := judge(known, is.samples, stretches, *show, os.Stdout)
	if !judgeEnds(is.ends, os.Stdout) || !right {
		os.Exit(1)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}
