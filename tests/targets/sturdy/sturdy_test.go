// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"testing"
	"time"
)

const ms = time.Millisecond

// steady gives a request each millisecond from 0 to 999 ms that takes so long.
func steady(took time.Duration) []record {
	var records []record
	for i := range 1000 {
		records = append(records, record{i % 2, int64(i) * 1e6, took})
	}
	return records
}

var halves = []window{{"before", 0, 500e6}, {"attach", 500e6, 1000e6}}

func TestHarm(t *testing.T) {
	for _, c := range []struct {
		name      string
		slow      int // so many of the 500 around the attach
		took      time.Duration
		windows   []window
		harm, bad bool
	}{
		{"as before", 0, 0, halves, false, false},
		{"one in a hundred", 5, time.Second, halves, false, false},
		{"more than one in a hundred", 6, time.Second, halves, true, true},
		{"10 times and 20 ms", 500, 30 * ms, halves, false, false},
		{"a little more", 500, 31 * ms, halves, true, true},
		{"nothing to compare with", 0, 0, halves[1:], false, true},
		{"too few", 0, 0, []window{halves[0], {"attach", 500e6, 550e6}}, false, true},
	} {
		records := steady(ms)
		for i := range c.slow {
			records[999-i].took = c.took
		}
		err := judge(io.Discard, records, c.windows, -1)
		if (err != nil) != c.bad || errors.Is(err, errHarm) != c.harm {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestWithin(t *testing.T) {
	records := []record{{0, 100, 50}, {1, 200, 500}, {0, 900, 10}}
	for _, c := range []struct {
		from, to int64
		server   int
		want     int
	}{{0, 100, -1, 0}, {0, 101, -1, 1}, {150, 200, -1, 0}, {300, 400, -1, 1}, {300, 400, 0, 0},
		{0, 1000, 0, 2}, {0, 1000, -1, 3}} {
		got := within(records, []window{{"x", c.from, c.to}, {"y", 0, 1000}}, "x", c.server)
		if len(got) != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestQuantile(t *testing.T) {
	times := []time.Duration{1, 2, 3, 4}
	if quantile(times, 0.5) != 2 || quantile(times, 0.99) != 4 || quantile(times, 0) != 1 {
		t.Error(quantile(times, 0.5), quantile(times, 0.99), quantile(times, 0))
	}
}
