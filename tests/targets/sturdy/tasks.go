// SPDX-License-Identifier: Apache-2.0

// What is hard on whoever touches a program: stacks that grow, move and shrink while spans are open
// on them, panics through many frames, goroutines that come and go.
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// depths of recursion, of which a task takes one.
var depths = []int{10, 30, 100, 300, 1000, 3000, 8000, 20000}

// task is one piece of work on one goroutine, whose stack is new.
type task struct {
	random *rand.Rand
	spans  int // how often, in levels, a span is started on the way down
	panics bool
}

var errBottom = errors.New("reached the bottom")

// round does a worker's tasks, stands where its labels can be read, and gives the result.
func (w *worker) round(ctx context.Context, seed uint64) {
	ctx, span := tracer.Start(ctx, "round", trace.WithAttributes(attribute.String("who", w.name)))
	var sum uint64
	pprof.Do(ctx, pprof.Labels("worker", w.name, "kind", "round"), func(ctx context.Context) {
		for i := range tasksEach {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			sum = mix(sum, w.task(ctx, random))
		}
		inner := pprof.Labels(standing, "in "+w.name, "number", fmt.Sprint(seed%7))
		pprof.Do(ctx, inner, func(ctx context.Context) {
			_, span := tracer.Start(ctx, "standing")
			defer span.End()
			sum = mix(sum, hashOf(labelsOf(ctx)))
			w.parked <- struct{}{}
			<-w.goOn
		})
		sum = mix(sum, hashOf(labelsOf(ctx)))
	})
	span.SetAttributes(attribute.Int64("sum", int64(sum)))
	span.End()
	w.results <- sum
}

func hashOf(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return hash.Sum64()
}

// task runs one on a goroutine of its own, with its smallest stack.
func (w *worker) task(ctx context.Context, random *rand.Rand) uint64 {
	depth := depths[random.IntN(len(depths))]
	depth = depth/2 + random.IntN(depth)/2 + 1
	t := &task{random, max(depth/(1+random.IntN(6)), 2), random.IntN(3) == 0}
	own := withSequence(ctx, random.Uint64())
	result := make(chan uint64)
	go func() { result <- t.dive(own, depth) }()
	return mix(<-result, t.fanOut(own))
}

// dive descends, and comes back by return or by panic.
func (t *task) dive(ctx context.Context, depth int) (sum uint64) {
	ctx, span := tracer.Start(ctx, "dive", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.Int("depth", depth), attribute.Bool("panics", t.panics)))
	defer span.End()
	defer func() {
		if why := recover(); why != nil {
			panics.Add(1)
			sum = hashOf(fmt.Sprint(why))
			span.RecordError(why.(error))
		}
	}()
	top := [4]uint64{uint64(depth), 1, 2, 3}
	return t.descend(ctx, &top, depth) ^ top[3]
}

// descend's frames each point into the one above them: all these pointers follow when the stack
// moves, or the result is another.
//
//go:noinline
func (t *task) descend(ctx context.Context, above *[4]uint64, depth int) uint64 {
	own := [4]uint64{above[1], above[2] ^ uint64(depth), above[3] + 1, mix(above[0], above[3])}
	var below uint64
	switch {
	case depth == 0:
		return t.bottom(ctx, &own)
	case depth%t.spans == 0:
		below = t.descendInSpan(ctx, &own, depth-1)
	default:
		below = t.descend(ctx, &own, depth-1)
	}
	above[3] ^= own[3] + below
	return below ^ own[0]
}

//go:noinline
func (t *task) descendInSpan(ctx context.Context, above *[4]uint64, depth int) uint64 {
	name := "level"
	if depth%5 == 0 {
		name = "dropped level"
	}
	ctx, span := tracer.Start(ctx, name, trace.WithAttributes(attribute.Int("depth", depth)))
	defer span.End() // which records panics that go through it
	if t.panics && depth%2 == 0 {
		defer func() {
			if why := recover(); why != nil {
				panic(fmt.Errorf("level %d: %w", depth, why.(error)))
			}
		}()
	}
	return mix(t.descend(ctx, above, depth), above[3])
}

func (t *task) bottom(ctx context.Context, above *[4]uint64) uint64 {
	sum := garbage(above[0])
	switch t.random.IntN(4) {
	case 0:
		runtime.GC() // all frames are looked at while the span is open
	case 1:
		runtime.Gosched()
	case 2:
		sum = mix(sum, t.fanOut(ctx))
	}
	if t.panics {
		panic(fmt.Errorf("sum %x: %w", sum, errBottom))
	}
	return sum
}

// garbage keeps the allocator and the write barrier busy.
func garbage(seed uint64) uint64 {
	counts := map[uint64]*[]byte{}
	for i := range uint64(64) {
		bytes := make([]byte, 16+mix(seed, i)%512)
		bytes[len(bytes)-1] = byte(i)
		counts[mix(seed, i)%16] = &bytes
	}
	var sum uint64
	for key, bytes := range counts {
		sum += mix(key, uint64(len(*bytes))+uint64((*bytes)[len(*bytes)-1]))
	}
	return sum
}

// fanOut starts goroutines under the span at hand. Some start spans, some start goroutines.
func (t *task) fanOut(ctx context.Context) uint64 {
	ctx, span := tracer.Start(ctx, "fan out")
	defer span.End()
	results := make([]uint64, 1+t.random.IntN(6))
	var running sync.WaitGroup
	for i := range results {
		own := withSequence(ctx, t.random.Uint64())
		part := &task{random: rand.New(rand.NewPCG(t.random.Uint64(), 0)), spans: 1 << 30}
		running.Go(func() { results[i] = part.work(own, i) })
	}
	running.Wait()
	var sum uint64
	for _, result := range results {
		sum = mix(sum, result)
	}
	return sum
}

func (t *task) work(ctx context.Context, number int) uint64 {
	if number%2 == 0 {
		var span trace.Span
		ctx, span = tracer.Start(ctx, "part", trace.WithAttributes(attribute.Int("number", number)))
		defer span.End()
	}
	top := [4]uint64{uint64(number)}
	depth := t.random.IntN(200)
	sum := make(chan uint64)
	go func() { sum <- garbage(uint64(depth)) }()
	return t.shallow(&top, depth) ^ <-sum ^ hashOf(labelsOf(ctx))
}

//go:noinline
func (t *task) shallow(above *[4]uint64, depth int) uint64 {
	own := [4]uint64{above[3], mix(above[0], uint64(depth)), above[1], above[2]}
	if depth == 0 {
		return own[1]
	}
	return t.shallow(&own, depth-1) + own[3]
}
