// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
)

// Scenario is a run of work of some kinds, short enough to be repeated many times.
type Scenario struct {
	Kinds []*Kind
	Run   func()
}

// Program is what a program of this test does.
type Program struct {
	// Make is called once for each worker: a scenario's servers and connections are its own.
	Make []func() Scenario
	// Before opens what must be older than the profiler; what it returns runs beside the workers.
	Before func() (beside func())
	// Last runs when all else is done.
	Last func()
	// Check looks at what profiling must not have changed.
	Check func() error
}

// Main runs a program: says that it is ready, works from SIGUSR1 on until every kind had its share
// of CPU time, says that it is done, and writes the truth on SIGTERM.
func Main(p Program) {
	path := flag.String("truth", "", "file for the truth records (JSON lines)")
	cpu := flag.Duration("cpu", 600*time.Millisecond, "CPU time of each kind")
	limit := flag.Duration("limit", 150*time.Second, "wall time of all")
	workers := flag.Int("workers", 4, "scenarios at a time")
	flag.Parse()
	slots, table.records = make([]slot, 1<<16), make([]spanRecord, 0, 1<<17)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGTERM)

	lists := make([][]Scenario, *workers)
	for i := range lists {
		for _, make := range p.Make {
			lists[i] = append(lists[i], make())
		}
	}
	beside := func() {}
	if p.Before != nil {
		beside = p.Before()
	}
	fmt.Println("ready")
	beat(signals)
	began := time.Now()
	work(lists, beside, cpu.Nanoseconds(), began.Add(*limit))
	if p.Last != nil {
		p.Last()
	}
	fmt.Printf("done: %d kinds, %d slots, %d spans, %.1f s\n", len(kinds), slotCount.Load(),
		len(table.records), time.Since(began).Seconds())
	<-signals
	if err := finish(p, *path, cpu.Nanoseconds()); err != nil {
		fmt.Fprintln(os.Stderr, "patterns:", err)
		os.Exit(1)
	}
}

// beat starts spans until the first signal: what a profiler attaches at the first span of a program
// is there when the work begins.
func beat(signals <-chan os.Signal) {
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-signals:
			return
		case <-ticks.C:
			_, span := otel.Tracer("beat").Start(context.Background(), "beat")
			span.End()
		}
	}
}

func finish(p Program, path string, cpu int64) error {
	if dropped.Load() > 0 {
		return fmt.Errorf("%d records did not fit", dropped.Load())
	}
	for _, k := range kinds {
		if k.cpu.Load() < cpu {
			return fmt.Errorf("%s had no more than %d ms of CPU time", k.name,
				k.cpu.Load()/1e6)
		}
	}
	if p.Check != nil {
		if err := p.Check(); err != nil {
			return err
		}
	}
	if path == "" {
		return nil
	}
	return write(path)
}

// work repeats the scenarios that still have a kind without its share.
func work(lists [][]Scenario, beside func(), cpu int64, until time.Time) {
	var running sync.WaitGroup
	for worker, list := range lists {
		running.Go(func() {
			next := worker * len(list) / len(lists)
			for idle := 0; idle < len(list) && time.Now().Before(until); next++ {
				scenario := &list[next%len(list)]
				if scenario.satisfied(cpu) {
					idle++
					continue
				}
				idle = 0
				scenario.Run()
			}
		})
	}
	running.Go(beside)
	running.Wait()
}

func (s *Scenario) satisfied(cpu int64) bool {
	for _, k := range s.Kinds {
		if k.cpu.Load() < cpu {
			return false
		}
	}
	return true
}
