// SPDX-License-Identifier: Apache-2.0

// verify: holds what spanprof reported against what a test program knows about itself.
//
//	verify truth -truth FILE -samples FILE [-pprof FILE]   every sample of the truth program
//	verify shop -log FILE -pprof FILE                      the routes of the shop
//	verify waits -truth FILE -pprof FILE                   what the waits program waited for
//	verify traced -truth FILE -pprof FILE -trace FILE      the same, by runtime/trace
//	verify storm -pprof FILE                               stacks of the waits program's stormers
//	verify rows -pprof FILE                                what it says, for a comparison
//	verify runtime -pprof FILE -samples FILE -from NS -to NS  what runtime/pprof sampled meanwhile
//
// It prints its figures and exits 1 when they are worse than its flags allow.
package main

import (
	"errors"
	"fmt"
	"os"
)

// errFailed means that a figure missed its limit; it has been printed.
var errFailed = errors.New("failed")

func main() {
	commands := map[string]func([]string) error{"truth": verifyTruth, "shop": verifyShop,
		"waits": verifyWaits, "traced": verifyTraced, "storm": verifyStorm,
		"runtime": verifyRuntime, "rows": printRows}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: verify truth|shop|waits|traced|storm|rows|runtime [flags]")
		os.Exit(2)
	}
	switch err := commands[os.Args[1]](os.Args[2:]); {
	case err == errFailed:
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

// checklist prints one line per figure and remembers whether one failed.
type checklist struct {
	failed bool
}

func (c *checklist) check(ok bool, format string, args ...any) {
	mark := "ok  "
	if !ok {
		mark, c.failed = "FAIL", true
	}
	fmt.Printf("  %s  %s\n", mark, fmt.Sprintf(format, args...))
}

func (c *checklist) result() error {
	if c.failed {
		return errFailed
	}
	return nil
}
