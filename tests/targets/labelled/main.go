// SPDX-License-Identifier: Apache-2.0

// labelled: work of known spans under profiler labels, profiled by the Go runtime itself.
//
//	labelled [-seconds N] [-rate HZ] -profile FILE [-heap FILE]
//
// It takes turns at the kinds of work below, so that each has a share of the samples.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

// kinds are the labels that samples may have; their IDs are arbitrary.
var kinds = [][]string{
	{"trace_id", "4bf92f3577b34da6a3ce929d0e0e4736", "span_id", "00f067aa0ba902b7",
		"span_name", "GET /checkout"},
	{"trace_id", "4bf92f3577b34da6a3ce929d0e0e4736", "span_id", "00f067aa0ba902b8",
		"span_name", "charge", "tenant", "a"},
	{"trace_id", "0AF7651916CD43DD8448EB211C80319C", "profile_id", "B7AD6B7169203331"},
	{"span_id", "53995c3f42cd8ad8"},                                  // a span without a trace
	{"span id", "67667974448284343", "local root span id", "1"},      // the same, Datadog's spelling
	{"trace_id", "not-a-trace", "span_id", "53995c3f42cd8ad9"},       // half of it malformed
	{"trace_id", "4bf92f3577b34da6a3ce929d0e0e4736", "span_id", "7"}, // the other half
	{"route", "/checkout"},
	nil,
}

var sink uint64

// step is inlined into its caller.
func step(x uint64) uint64 {
	return x*6364136223846793005 + 1442695040888963407
}

func mix(x uint64) uint64 {
	return step(step(x)) ^ x>>33
}

//go:noinline
func burn(until time.Time) {
	x := sink
	for time.Now().Before(until) {
		for range 1000 {
			x = mix(x)
		}
	}
	sink = x
}

//go:noinline
func work(labels []string, until time.Time) {
	if labels == nil {
		burn(until)
		return
	}
	pprof.Do(context.Background(), pprof.Labels(labels...), func(context.Context) { burn(until) })
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	seconds := flag.Float64("seconds", 3, "of profile")
	rate := flag.Int("rate", 100, "samples a second")
	path := flag.String("profile", "", "file for the CPU profile")
	heap := flag.String("heap", "", "file for a heap profile")
	flag.Parse()
	file, err := os.Create(*path)
	must(err)
	if *rate != 100 {
		// StartCPUProfile then says that the rate cannot be set anew, and keeps this one.
		runtime.SetCPUProfileRate(*rate)
	}
	must(pprof.StartCPUProfile(file))
	turn := 20 * time.Millisecond
	for end, i := time.Now().Add(time.Duration(*seconds*1e9)), 0; time.Now().Before(end); i++ {
		work(kinds[i%len(kinds)], time.Now().Add(turn))
	}
	pprof.StopCPUProfile()
	must(file.Close())
	if *heap != "" {
		out, err := os.Create(*heap)
		must(err)
		must(pprof.WriteHeapProfile(out))
		must(out.Close())
	}
}
