// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"syscall"
)

// agent is spanprof at work on one process.
type agent struct {
	*program
}

// profile starts spanprof on a process, without a time limit, and waits until it has attached.
func (b *bench) profile(ctx context.Context, pid int, arguments ...string) (*agent, error) {
	p, err := launch(ctx, b.spanprof,
		append([]string{"-p", strconv.Itoa(pid), "--verbose", "--probe-budget", "0"}, arguments...)...)
	if err != nil {
		return nil, err
	}
	if _, err := p.find("attached to"); err != nil {
		return nil, err
	}
	return &agent{p}, nil
}

// finish ends the profile as Ctrl-C does.
func (a *agent) finish() (counters, error) {
	output, err := a.stop(syscall.SIGINT)
	if err != nil {
		return "", fmt.Errorf("spanprof: %w:\n%s", err, output)
	}
	return counters(output), nil
}

// counters are what --verbose prints at the end.
type counters string

func (c counters) find(expression string) (float64, error) {
	match := regexp.MustCompile(expression).FindStringSubmatch(string(c))
	if match == nil {
		return 0, fmt.Errorf("spanprof does not print %q:\n%s", expression, string(c))
	}
	return strconv.ParseFloat(match[1], 64)
}

func (c counters) event(label string) (float64, error) {
	return c.find(`debug: ` + label + `: (\d+)`)
}
