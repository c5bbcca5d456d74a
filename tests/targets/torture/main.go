// SPDX-License-Identifier: Apache-2.0

// torture: work whose stacks are hard to walk, one mode after the other. It tells when each began
// and ended, and what the Go runtime calls program counters of its own:
//
//	torture [-seconds N] [-modes NAME,…]   "ready PID"; from SIGUSR1 on lines "mode NAME FROM TO": ns
//	                                       of CLOCK_MONOTONIC
//	torture -resolve                       for each line of hex return addresses, leaf first,
//	                                       one of "function file:line" with tabs between
//
// The text compiles with Go 1.18 and newer.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// stop tells the mode under way that its time is over.
var stop uint32

func running() bool { return atomic.LoadUint32(&stop) == 0 }

type mode struct {
	name string
	run  func()
}

func now() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func runMode(m mode, d time.Duration) {
	atomic.StoreUint32(&stop, 0)
	from := now()
	time.AfterFunc(d, func() { atomic.StoreUint32(&stop, 1) })
	m.run()
	fmt.Println("mode", m.name, from, now())
}

func contains(list []string, name string) bool {
	for _, n := range list {
		if n == name {
			return true
		}
	}
	return false
}

func main() {
	seconds := flag.Float64("seconds", 1, "of each mode")
	names := flag.String("modes", "", "only these")
	answers := flag.Bool("resolve", false, "tell the names of addresses on stdin")
	flag.Parse()
	if *answers {
		resolve()
		return
	}
	begin := make(chan os.Signal, 1)
	signal.Notify(begin, syscall.SIGUSR1)
	fmt.Println("ready", os.Getpid())
	<-begin
	signal.Stop(begin)
	for _, m := range append(modes, cModes...) {
		if *names == "" || contains(strings.Split(*names, ","), m.name) {
			runMode(m, time.Duration(*seconds*float64(time.Second)))
		}
	}
}
