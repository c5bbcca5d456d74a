// SPDX-License-Identifier: Apache-2.0

// judge holds the ended spans that spanprof told of against the log of the service that ended them.
//
//	judge -log FILE -samples FILE -verbose FILE
//
// It prints its figures and exits 1 when one is worse than its flags allow.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"spanprof.test/lines"
)

// limits say how much may be missing; nothing told may be untrue.
type limits struct {
	told    float64 // share of the spans of phases without garbage collection
	known   float64 // share of all spans: told of or known to be lost
	starts  float64 // what the count of starts may be off, as a share
	scaled  float64 // what a name's count may be off after scaling, as a share
	cycles  float64 // of the garbage collector in a second, in the other phases
	ofName  int     // names with fewer spans are not scaled
	shown   int     // untrue ones that are described
	overall int     // least number of spans
}

func main() {
	logPath := flag.String("log", "", "log of spanlog")
	samplesPath := flag.String("samples", "", "samples of spanprof (.jsonl)")
	verbosePath := flag.String("verbose", "", "what spanprof --verbose wrote to stderr")
	l := limits{starts: 0.01, ofName: 1000}
	flag.Float64Var(&l.told, "least-told", 0.95, "least share told of without garbage collection")
	flag.Float64Var(&l.known, "least-known", 0.99, "least share told of or known to be lost")
	flag.Float64Var(&l.scaled, "scaled", 0.01, "most that a name's scaled count may be off")
	flag.Float64Var(&l.cycles, "cycles", 10, "least garbage collections a second")
	flag.IntVar(&l.overall, "least-spans", 10000, "least number of spans")
	flag.IntVar(&l.shown, "show", 10, "describe so many that are not true")
	flag.Parse()
	service, err := lines.ReadFile(*logPath, readLog)
	exitOn(err)
	told, err := lines.ReadFile(*samplesPath, func(r io.Reader) ([]told, error) {
		return readTold(r, service.Pid)
	})
	exitOn(err)
	said, err := lines.ReadFile(*verbosePath, readVerbose)
	exitOn(err)
	if !judge(service, told, said, l, os.Stdout) {
		os.Exit(1)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}
