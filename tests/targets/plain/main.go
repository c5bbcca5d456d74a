// SPDX-License-Identifier: Apache-2.0

// plain: a Go program that burns CPU and knows nothing of tracing.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"spanprof.test/plain/burn"
)

func main() {
	seconds := flag.Int("seconds", 10, "how long; SIGTERM ends it earlier")
	flag.Parse()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	fmt.Printf("plain: ready, pid %d\n", os.Getpid())
	rounds := 0
	for until := time.Now().Add(time.Duration(*seconds) * time.Second); time.Now().Before(until); {
		burn.Words(10_000)
		rounds++
		select {
		case <-signals:
			return
		default:
		}
	}
	fmt.Printf("plain: %d rounds\n", rounds)
}
