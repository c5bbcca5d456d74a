// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const loadSeconds = 600 // the most that the shop's load takes

// service is a program to be profiled, with its clients.
type service struct {
	*program
	address string
	clients *program
}

// startShop starts the shop, idle.
func (b *bench) startShop(ctx context.Context) (*service, error) {
	p, err := launch(ctx, b.target("shop"))
	if err != nil {
		return nil, err
	}
	ready, err := p.find("listening on ")
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(ready.text, "listening on ")
	address, _, _ := strings.Cut(rest, ",")
	return &service{program: p, address: address}, nil
}

// startTruth starts the program whose workers keep every CPU busy in spans.
func (b *bench) startTruth(ctx context.Context) (*service, error) {
	p, err := launch(ctx, b.target("truth"), "-seconds", strconv.Itoa(loadSeconds))
	if err != nil {
		return nil, err
	}
	_, err = p.find("ready")
	return &service{program: p}, err
}

// load sends the shop the bounded mix from so many clients for each route.
func (s *service) load(ctx context.Context, b *bench, each int) error {
	var err error
	s.clients, err = launch(ctx, b.target("shop"), "load", "-to", s.address, "-seconds",
		strconv.Itoa(loadSeconds), "-each", strconv.Itoa(each))
	if err != nil {
		return err
	}
	return pause(ctx, time.Second) // let the first spans begin
}

// end stops the clients, then the service. The clients are cut off in mid-request.
func (s *service) end() error {
	if s.clients != nil {
		_, _ = s.clients.stop(syscall.SIGTERM)
	}
	if output, err := s.stop(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%s: %w:\n%s", s.command.Path, err, output)
	}
	return nil
}
