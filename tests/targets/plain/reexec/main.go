// SPDX-License-Identifier: Apache-2.0

// reexec: a process that runs its program anew many times, as servers do that upgrade themselves.
// Each image burns CPU; the last one tells how much all of them took.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"spanprof.test/plain/burn"
)

// used is the CPU time of this process, images before this one included.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func main() {
	times := flag.Int("times", 50, "how often it runs itself")
	each := flag.Duration("each", 40*time.Millisecond, "CPU time of each image")
	flag.Parse()
	for until := used() + *each; used() < until; {
		burn.Words(1000)
	}
	if *times == 0 {
		fmt.Printf("reexec: cpu_us=%d\n", used().Microseconds())
		return
	}
	again := []string{os.Args[0], "-times", strconv.Itoa(*times - 1), "-each", each.String()}
	if err := syscall.Exec("/proc/self/exe", again, os.Environ()); err != nil {
		panic(err)
	}
}
