// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	symbolRounds  = 9
	symbolLookups = 100000
	withSection   = 10. // ms, warm
	without       = 40.
	ownBudget     = 4.   // MB
	freshBudget   = 500. // ms
	freshHertz    = "999"
)

// tables are what tests/bench/symbols/main.c told of a file.
type tables struct {
	cold, own, lookup float64
	warm              figures
	pcs               []uint64
}

func readTables(ctx context.Context, helper, path string) (tables, error) {
	var t tables
	out, err := exec.CommandContext(ctx, helper, path, strconv.Itoa(symbolRounds),
		strconv.Itoa(symbolLookups)).Output()
	if err != nil {
		return t, fmt.Errorf("%s %s: %w", helper, path, err)
	}
	scanner := bufio.NewScanner(strings.NewReader(string(out)))
	for scanner.Scan() {
		key, value, _ := strings.Cut(scanner.Text(), " ")
		if key == "pc" {
			pc, err := strconv.ParseUint(value, 16, 64)
			if err != nil {
				return t, err
			}
			t.pcs = append(t.pcs, pc)
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return t, err
		}
		switch key {
		case "cold":
			t.cold = number
		case "warm":
			t.warm = append(t.warm, number)
		case "own":
			t.own = number / 1e6
		case "lookups":
			t.lookup = number
		}
	}
	return t, nil
}

// goTables does the same with debug/gosym, which knows no inlined calls.
func goTables(path string, pcs []uint64) (ms, mb, ns float64, err error) {
	file, err := elf.Open(path)
	if err != nil {
		return 0, 0, 0, err
	}
	defer file.Close()
	section, text := file.Section(".gopclntab"), file.Section(".text")
	if section == nil || text == nil {
		return 0, 0, 0, nil
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	data, err := section.Data()
	if err != nil {
		return 0, 0, 0, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return 0, 0, 0, err
	}
	ms = time.Since(began).Seconds() * 1e3
	runtime.GC()
	runtime.ReadMemStats(&after)
	began = time.Now()
	for _, pc := range pcs {
		table.PCToLine(pc)
	}
	return ms, (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / 1e6,
		float64(time.Since(began).Nanoseconds()) / float64(len(pcs)), nil
}

// firstOfFresh is how long after the exec of a program that was never seen before the first sample was
// taken that has its names, in ms.
func (b *bench) firstOfFresh(ctx context.Context, path string) (float64, error) {
	program, log := b.file("fresh"), b.file("fresh.jsonl")
	if err := copyFile(path, program); err != nil {
		return 0, err
	}
	defer os.Remove(program)
	agent, err := launch(ctx, b.spanprof, "--exe", program, "-F", freshHertz, "--wait", "off", "-o", log)
	if err != nil {
		return 0, err
	}
	if _, err := agent.find("waiting for one"); err != nil {
		return 0, err
	}
	begin, err := monotonic()
	if err != nil {
		return 0, err
	}
	if output, err := exec.CommandContext(ctx, program, "--version").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s --version: %w:\n%s", path, err, output)
	}
	if output, err := agent.stop(syscall.SIGINT); err != nil {
		return 0, fmt.Errorf("spanprof: %w:\n%s", err, output)
	}
	first, err := firstSample(log, true)
	return float64(first-begin) / 1e6, err
}

func (b *bench) freshCost(ctx context.Context, path string) error {
	var first figures
	for range b.rounds {
		ms, err := b.firstOfFresh(ctx, path)
		if err != nil {
			return err
		}
		first = append(first, ms)
	}
	row("first sample with names after exec", "%s; %s", first.words("%.0f ms"),
		verdict(first.median(), freshBudget, "ms"))
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// symbolCost reads large stripped programs, named *.program in the folder of the targets.
func symbolCost(ctx context.Context, b *bench) error {
	programs, err := filepath.Glob(filepath.Join(b.targets, "*.program"))
	if err != nil || len(programs) == 0 {
		return fmt.Errorf("no large programs in %s", b.targets)
	}
	for _, path := range programs {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		t, err := readTables(ctx, filepath.Join(b.targets, "symbols"), path)
		if err != nil {
			return err
		}
		ms, mb, ns, err := goTables(path, t.pcs)
		if err != nil {
			return err
		}
		limit, how := without, "no .gopclntab"
		if ms > 0 {
			limit, how = withSection, ".gopclntab"
		}
		fmt.Printf("  %s, %.1f MB, %s\n", strings.TrimSuffix(filepath.Base(path), ".program"),
			float64(info.Size())/1e6, how)
		row("load, warm", "%s; %s", t.warm.words("%.1f ms"), verdict(t.warm.median(), limit, "ms"))
		row("load, cold", "%.1f ms", t.cold)
		row("memory of our own", "%.2f MB; %s", t.own, verdict(t.own, ownBudget, "MB"))
		row("look-up, with inlined calls", "%.0f ns", t.lookup)
		if ms > 0 {
			row("debug/gosym", "load %.1f ms, %.1f MB, look-up without inlined calls %.0f ns", ms, mb, ns)
		}
		if err := b.freshCost(ctx, path); err != nil {
			return err
		}
	}
	return nil
}
