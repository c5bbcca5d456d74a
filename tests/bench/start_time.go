// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	clockMonotonic = 1
	startBudget    = 1. // seconds
	startSeconds   = 3
)

// monotonic reads the clock of the samples' time_ns.
func monotonic() (time.Duration, error) {
	var now syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic,
		uintptr(unsafe.Pointer(&now)), 0)
	if errno != 0 {
		return 0, errno
	}
	return time.Duration(now.Nano()), nil
}

// firstSample is the earliest time in a .jsonl file; `named`: of a sample with a line of Go.
func firstSample(path string, named bool) (time.Duration, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var first time.Duration
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var sample struct {
			Time  int64    `json:"time_ns"`
			Stack []string `json:"stack"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &sample); err != nil {
			return 0, err
		}
		if named && !strings.Contains(strings.Join(sample.Stack, " "), ".go:") {
			continue
		}
		if at := time.Duration(sample.Time); first == 0 || at < first {
			first = at
		}
	}
	if first == 0 {
		return 0, fmt.Errorf("%s has no such sample", path)
	}
	return first, scanner.Err()
}

// starts are seconds from the start of spanprof.
type starts struct{ attached, sampled, shown, sent figures }

// quiet runs without a terminal: when it has attached and when its first sample was taken.
func (s *starts) quiet(ctx context.Context, b *bench, pid int) error {
	log := b.file("start.jsonl")
	begin, err := monotonic()
	if err != nil {
		return err
	}
	p, err := launch(ctx, b.spanprof, "-p", strconv.Itoa(pid), "-d", strconv.Itoa(startSeconds),
		"-o", log)
	if err != nil {
		return err
	}
	attached, err := p.find("attached to")
	if err != nil {
		return err
	}
	<-p.done
	if p.failure != nil {
		return fmt.Errorf("spanprof: %w:\n%s", p.failure, p.output())
	}
	sampled, err := firstSample(log, false)
	if err != nil {
		return err
	}
	s.attached = append(s.attached, attached.at.Sub(p.started).Seconds())
	s.sampled = append(s.sampled, (sampled - begin).Seconds())
	return nil
}

// watched runs on a terminal: when the first table is on it.
func (s *starts) watched(ctx context.Context, b *bench, pid int) error {
	p, err := launchOnTerminal(ctx, b.spanprof, "-p", strconv.Itoa(pid), "-d",
		strconv.Itoa(startSeconds))
	if err != nil {
		return err
	}
	table, err := p.find("samples") // the table's head
	if err != nil {
		return err
	}
	<-p.done
	s.shown = append(s.shown, table.at.Sub(p.started).Seconds())
	return nil
}

// sending runs with the shortest window: when the first request is at the sink.
func (s *starts) sending(ctx context.Context, b *bench, pid int, sink *sink) error {
	p, err := launch(ctx, b.spanprof, "-p", strconv.Itoa(pid), "-d", strconv.Itoa(startSeconds),
		"--window", "1", "--otlp-endpoint", sink.url)
	if err != nil {
		return err
	}
	sink.skip()
	request, err := sink.find(`"samples":`)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.output())
	}
	<-p.done
	s.sent = append(s.sent, request.at.Sub(p.started).Seconds())
	return nil
}

func startTime(ctx context.Context, b *bench) error {
	target, err := b.startShop(ctx)
	if err != nil {
		return err
	}
	if err := target.load(ctx, b, 2); err != nil {
		return err
	}
	sink, err := b.startSink(ctx)
	if err != nil {
		return err
	}
	var s starts
	for range b.rounds {
		if err := s.quiet(ctx, b, target.pid()); err != nil {
			return err
		}
		if err := s.watched(ctx, b, target.pid()); err != nil {
			return err
		}
		if err := s.sending(ctx, b, target.pid(), sink); err != nil {
			return err
		}
	}
	row("attached", "%s s", s.attached.words("%.2f"))
	row("first sample taken", "%s s", s.sampled.words("%.2f"))
	row("first table on a terminal", "%s s; %s", s.shown.words("%.2f"),
		verdict(s.shown.median(), startBudget, "s"))
	row("first request at the sink (--window 1)", "%s s; %s", s.sent.words("%.2f"),
		verdict(s.sent.median(), startBudget, "s"))
	if err := sink.end(); err != nil {
		return err
	}
	return target.end()
}
