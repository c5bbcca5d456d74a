// SPDX-License-Identifier: Apache-2.0

// judge holds the samples that spanprof wrote against what the programs of this test know.
//
//	judge -truth FILE [-truth FILE]... -samples FILE [-pprof FILE] [-links FILE]
//
// It prints a line for each kind of work and exits 1 when one has a wrong tag or too few right
// ones.
package main

import (
	"flag"
	"fmt"
	"os"

	"spanprof.test/lines"
)

func main() {
	var truths []*truth
	flag.Func("truth", "what a program did", func(path string) error {
		t, err := lines.ReadFile(path, readTruth)
		truths = append(truths, t)
		return err
	})
	samplesPath := flag.String("samples", "", "samples of spanprof (.jsonl)")
	pprofPath := flag.String("pprof", "", "pprof file of the same run: the spans' last names")
	linksPath := flag.String("links", "", "\"sink list\" of the requests: which spans were linked")
	hertz := flag.Float64("freq", 397, "sampling frequency in Hz")
	least := flag.Int("min-samples", 200, "least number of samples of a kind")
	flag.Parse()
	samples, err := lines.ReadFile(*samplesPath, readSamples)
	exitOn(err)
	failed := false
	for _, t := range truths {
		v := match(t, samples)
		v.check(t, *least)
		v.checkTurns(t, 1e9 / *hertz)
		if *pprofPath != "" {
			names, err := readNames(*pprofPath)
			exitOn(err)
			v.checkNames(t, names)
		}
		if *linksPath != "" {
			links, err := lines.ReadFile(*linksPath, readLinks)
			exitOn(err)
			v.checkLinks(t, links)
		}
		v.printReasons()
		failed = failed || v.failed
	}
	if failed || len(truths) == 0 {
		os.Exit(1)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}
