// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"time"
)

const (
	wireSeconds = 45 * time.Second
	wireBudget  = 80. // bytes
	fullWindow  = uint64(9 * time.Second)
)

// sink receives OTLP requests, checks them and prints a line for each.
type sink struct {
	*program
	url string
}

func (b *bench) startSink(ctx context.Context) (*sink, error) {
	p, err := launch(ctx, b.target("sink"))
	if err != nil {
		return nil, err
	}
	address, err := p.find(":")
	if err != nil {
		return nil, err
	}
	return &sink{p, "http://" + address.text}, nil
}

// end fails when any request was malformed.
func (s *sink) end() error {
	output, err := s.stop(syscall.SIGTERM)
	if err != nil {
		return fmt.Errorf("sink: %w:\n%s", err, output)
	}
	return nil
}

// request is one line of the sink.
type request struct {
	WireBytes float64 `json:"wire_bytes"`
	Bytes     float64 `json:"bytes"`
	Values    float64 `json:"values"`
	Samples   float64 `json:"samples"`
	Links     float64 `json:"links"`
	Stacks    float64 `json:"stacks"`
	Duration  uint64  `json:"duration_nano"`
}

func wireBytes(ctx context.Context, b *bench) error {
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
	a, err := b.profile(ctx, target.pid(), "-F", "99", "--otlp-endpoint", sink.url)
	if err != nil {
		return err
	}
	if err := pause(ctx, wireSeconds); err != nil {
		return err
	}
	if _, err := a.finish(); err != nil {
		return err
	}
	var each, size figures
	for l := range strings.Lines(sink.output()) {
		var r request
		if json.Unmarshal([]byte(l), &r) != nil || r.Duration < fullWindow || r.Values == 0 {
			continue
		}
		row("a window", "%.0f ticks, %.0f samples, %.0f stacks, %.0f links: %.0f bytes, %.0f gzip",
			r.Values, r.Samples, r.Stacks, r.Links, r.Bytes, r.WireBytes)
		each = append(each, r.WireBytes/r.Values)
		size = append(size, r.WireBytes)
	}
	if len(each) < 2 {
		return fmt.Errorf("%d full windows at the sink:\n%s", len(each), sink.output())
	}
	row("gzip bytes per sample", "%s; %s", each.words("%.1f"), verdict(each.median(), wireBudget, "bytes"))
	if err := sink.end(); err != nil {
		return err
	}
	return target.end()
}
