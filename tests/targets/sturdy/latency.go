// SPDX-License-Identifier: Apache-2.0

// How long requests took in named stretches of time, and whether that is harm.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"
)

// window is a stretch of the wall clock; several may have one name.
type window struct {
	name     string
	from, to int64
}

const (
	harmFactor = 10 // gross harm: p99 grows by so much and by harmMore
	harmMore   = 20 * time.Millisecond
	leastOf    = 100 // requests in the windows of one name
)

var errHarm = errors.New("requests were held up")

func latencyCommand(args []string) error {
	flags := flag.NewFlagSet("latency", flag.ExitOnError)
	recordsPath := flags.String("records", "", "what load wrote")
	windowsPath := flags.String("windows", "", "lines \"NAME FROM_NS TO_NS\"; \"before\" is one name")
	server := flags.Int("server", -1, "only requests to this one; the first is 0")
	if err := flags.Parse(args); err != nil {
		return err
	}
	records, err := readLines(*recordsPath, func(line string) (r record, err error) {
		_, err = fmt.Sscan(line, &r.server, &r.due, (*int64)(&r.took))
		return r, err
	})
	if err != nil {
		return err
	}
	windows, err := readLines(*windowsPath, func(line string) (w window, err error) {
		_, err = fmt.Sscan(line, &w.name, &w.from, &w.to)
		return w, err
	})
	if err != nil {
		return err
	}
	return judge(os.Stdout, records, windows, *server)
}

func readLines[T any](path string, parse func(string) (T, error)) ([]T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []T
	in := bufio.NewScanner(file)
	for in.Scan() {
		one, err := parse(in.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, in.Text(), err)
		}
		all = append(all, one)
	}
	return all, in.Err()
}

// within gives the times of requests that were under way in a window of that name, in order.
func within(records []record, windows []window, name string, server int) []time.Duration {
	var times []time.Duration
	for i := range records {
		r := &records[i]
		if server >= 0 && r.server != server {
			continue
		}
		if slices.ContainsFunc(windows, func(w window) bool {
			return w.name == name && r.due < w.to && r.end() > w.from
		}) {
			times = append(times, r.took)
		}
	}
	slices.Sort(times)
	return times
}

// quantile is the smallest of the times, which are in order, that so large a share does not exceed.
func quantile(times []time.Duration, share float64) time.Duration {
	return times[max(int(math.Ceil(share*float64(len(times))))-1, 0)]
}

// judge prints a line for each name, in the order of the windows, and compares with "before".
func judge(out io.Writer, records []record, windows []window, server int) error {
	var before time.Duration
	var err error
	fmt.Fprintf(out, "  %-10s %8s %9s %9s %9s\n", "when", "requests", "p50 ms", "p99 ms", "max ms")
	var names []string
	for _, w := range windows {
		if slices.Contains(names, w.name) {
			continue
		}
		names = append(names, w.name)
		times := within(records, windows, w.name, server)
		if len(times) < leastOf {
			return fmt.Errorf("%s: only %d requests", w.name, len(times))
		}
		p99 := quantile(times, 0.99)
		fmt.Fprintf(out, "  %-10s %8d %9.2f %9.2f %9.2f\n", w.name, len(times),
			milliseconds(quantile(times, 0.5)), milliseconds(p99), milliseconds(times[len(times)-1]))
		if w.name == "before" {
			before = p99
		} else if p99 > harmFactor*before+harmMore {
			err = errHarm
		}
	}
	if before == 0 {
		return errors.New("no window before")
	}
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
