// SPDX-License-Identifier: Apache-2.0

// A pool of goroutines that are older than the requests whose work they do.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

type job struct {
	ctx context.Context
	run func(context.Context)
}

type pool struct {
	jobs chan job
}

func newPool(workers int) *pool {
	p := &pool{jobs: make(chan job, 64)}
	for range workers {
		go p.work()
	}
	return p
}

func (p *pool) work() {
	for j := range p.jobs {
		ctx, span := tracer.Start(j.ctx, "render label")
		j.run(ctx)
		span.End()
	}
}

func (p *pool) submit(j job) {
	p.jobs <- j
}

// renderLabel hashes for some milliseconds, as a stand-in for drawing.
func renderLabel(_ context.Context, number int) string {
	sum := sha256.Sum256([]byte{byte(number)})
	for range 20_000 {
		sum = sha256.Sum256(sum[:])
	}
	return hex.EncodeToString(sum[:4])
}
