// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kinds of BPF programs and maps, as fdinfo numbers them.
const (
	perfEventProgram = 7
	perCPUHash       = 5
	perCPUArray      = 6
)

const statsSwitch = "/proc/sys/kernel/bpf_stats_enabled"

// countRuns makes the kernel time every BPF program until the returned function is called.
func countRuns() (restore func(), err error) {
	before, err := os.ReadFile(statsSwitch)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(statsSwitch, []byte("1"), 0); err != nil {
		return nil, err
	}
	return func() { _ = os.WriteFile(statsSwitch, before, 0) }, nil
}

// fdinfo gives the fields of each descriptor of a process that has the one named.
func fdinfo(pid int, field string) ([]map[string]float64, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		return nil, err
	}
	var found []map[string]float64
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			continue // closed meanwhile
		}
		fields := make(map[string]float64)
		scanner := bufio.NewScanner(file)
		for scanner.Scan() {
			key, rest, _ := strings.Cut(scanner.Text(), ":")
			var value float64
			if _, err := fmt.Sscan(rest, &value); err == nil {
				fields[key] = value
			}
		}
		file.Close()
		if _, has := fields[field]; has {
			found = append(found, fields)
		}
	}
	return found, nil
}

// runs is how often a process's BPF programs of one kind ran, and for how long.
type runs struct{ count, nanoseconds float64 }

func programRuns(pid int, kind float64) (runs, error) {
	programs, err := fdinfo(pid, "prog_type")
	if err != nil {
		return runs{}, err
	}
	var sum runs
	seen := make(map[float64]bool)
	for _, p := range programs {
		if p["prog_type"] != kind || seen[p["prog_id"]] {
			continue
		}
		seen[p["prog_id"]] = true
		sum.count += p["run_cnt"]
		sum.nanoseconds += p["run_time_ns"]
	}
	if len(seen) == 0 {
		return runs{}, fmt.Errorf("process %d has no BPF program of kind %v", pid, kind)
	}
	return sum, nil
}

// mapBytes is what the kernel charges for a process's BPF maps.
func mapBytes(pid int) (float64, error) {
	maps, err := fdinfo(pid, "map_type")
	if err != nil {
		return 0, err
	}
	var sum float64
	seen := make(map[float64]bool)
	for _, m := range maps {
		if !seen[m["map_id"]] {
			seen[m["map_id"]] = true
			sum += m["memlock"]
		}
	}
	return sum, nil
}

// sumOfCounts adds up the values of a process's one per-CPU hash: bpftrace's count().
func sumOfCounts(pid int) (float64, error) {
	maps, err := fdinfo(pid, "map_type")
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m["map_type"] != perCPUHash {
			continue
		}
		text, err := dumpMap(m["map_id"])
		if err != nil {
			return 0, err
		}
		return addCounts(text)
	}
	return 0, fmt.Errorf("process %d has no map of counts", pid)
}

// dumpMap is what bpftool prints of a map.
func dumpMap(id float64) ([]byte, error) {
	text, err := exec.Command("bpftool", "-j", "map", "dump", "id", strconv.Itoa(int(id))).Output()
	if err != nil {
		return nil, fmt.Errorf("bpftool map dump: %w", err)
	}
	return text, nil
}

// samplesNow reads how many samples a living spanprof has taken, from its counters map.
func samplesNow(pid int) (sum float64, err error) {
	maps, err := fdinfo(pid, "map_type")
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m["map_type"] != perCPUArray {
			continue
		}
		text, err := dumpMap(m["map_id"])
		if err != nil {
			return 0, err
		}
		var entries []struct {
			Formatted struct {
				Values []struct {
					Value struct {
						Events []float64 `json:"events"`
					} `json:"value"`
				} `json:"values"`
			} `json:"formatted"`
		}
		if json.Unmarshal(text, &entries) != nil || len(entries) != 1 {
			continue // another map
		}
		for _, v := range entries[0].Formatted.Values {
			if len(v.Value.Events) > 0 {
				sum += v.Value.Events[0] // EVENT_SAMPLES is the first
			}
		}
		if sum > 0 {
			return sum, nil
		}
	}
	return 0, fmt.Errorf("process %d has counted no samples", pid)
}

// addCounts reads bpftool's JSON, in which a value is a list of bytes in hex.
func addCounts(text []byte) (sum float64, err error) {
	var entries []struct {
		Values []struct {
			Value []string `json:"value"`
		} `json:"values"`
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		return 0, fmt.Errorf("bpftool map dump: %w", err)
	}
	for _, e := range entries {
		for _, v := range e.Values {
			var count uint64
			for i, digits := range v.Value {
				b, err := strconv.ParseUint(digits, 0, 8)
				if err != nil || i >= 8 {
					return 0, fmt.Errorf("bpftool map dump: value %q", v.Value)
				}
				count |= b << (8 * i)
			}
			sum += float64(count)
		}
	}
	return sum, nil
}

// address of a function's first instruction, as uprobes of bpftrace want it.
func address(file, function string) (uint64, error) {
	image, err := elf.Open(file)
	if err != nil {
		return 0, err
	}
	defer image.Close()
	symbols, err := image.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == function {
			return s.Value, nil
		}
	}
	return 0, fmt.Errorf("%s has no function %s", file, function)
}

// nullProbes is a bpftrace script that does nothing at the functions' first instructions.
func nullProbes(file string, functions ...string) (string, error) {
	var script strings.Builder
	for _, function := range functions {
		at, err := address(file, function)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&script, "uprobe:%s:%#x { } ", file, at)
	}
	return script.String(), nil
}

// bpftrace runs a script and waits until all its probes are attached: the last one says so.
func bpftrace(ctx context.Context, script string) (*program, error) {
	p, err := launch(ctx, "bpftrace", "-e", script+` interval:ms:100 { printf("attached\n"); }`)
	if err != nil {
		return nil, err
	}
	_, err = p.find("attached")
	return p, err
}

// stopTracing ends bpftrace as Ctrl-C does: it prints its maps.
func stopTracing(p *program) (string, error) {
	output, err := p.stop(syscall.SIGINT)
	if err != nil {
		return "", fmt.Errorf("bpftrace: %w:\n%s", err, output)
	}
	return output, nil
}

// settle is how long a probe's first hits and the newproc probe are given.
const settle = 400 * time.Millisecond
