// SPDX-License-Identifier: Apache-2.0

// busy: ordinary work of the standard library, profiled by the Go runtime itself.
//
//	busy [-work mixed|maps] [-seconds N] [-rate HZ] -profile FILE
//
// It prints "ready PID", works a second for a profiler to attach, then profiles its own work for so
// long; "profiled FROM TO" tells when, in ns of CLOCK_MONOTONIC.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

type record struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  []string          `json:"tags"`
	More  map[string]string `json:"more"`
}

func records(n int) []record {
	all := make([]record, n)
	for i := range all {
		all[i] = record{ID: i * 7919 % 10007, Name: fmt.Sprintf("record %d", i), Price: float64(i) / 3,
			Tags: []string{"a", "bc", strings.Repeat("d", i%17)},
			More: map[string]string{"key": "value", "other": fmt.Sprint(i)}}
	}
	return all
}

var pattern = regexp.MustCompile(`"name":"(record [0-9]+)","price":([0-9.]+)`)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func mixed(data []record) {
	text, err := json.Marshal(data)
	must(err)
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err = writer.Write(text)
	must(err)
	must(writer.Close())
	reader, err := gzip.NewReader(&packed)
	must(err)
	again, err := io.ReadAll(reader)
	must(err)
	found := pattern.FindAllSubmatch(again, -1)
	sort.Slice(found, func(i, j int) bool { return bytes.Compare(found[i][2], found[j][2]) < 0 })
	var back []record
	must(json.Unmarshal(again, &back))
	sort.Slice(back, func(i, j int) bool { return back[i].ID < back[j].ID })
}

func maps(data []record) {
	byName, byID := map[string]int{}, map[int]*record{}
	for round := 0; round < 20; round++ {
		for i := range data {
			byName[data[i].Name] += i
			byID[data[i].ID+round] = &data[i]
		}
		for id := range byID {
			if id%3 == 0 {
				delete(byID, id)
			}
		}
	}
}

func now() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func main() {
	works := map[string]func([]record){"mixed": mixed, "maps": maps}
	work := flag.String("work", "mixed", "mixed or maps")
	seconds := flag.Int("seconds", 10, "of profile")
	rate := flag.Int("rate", 500, "samples a second")
	path := flag.String("profile", "", "file for the profile")
	flag.Parse()
	if works[*work] == nil || *path == "" {
		flag.Usage()
		os.Exit(2)
	}
	var stop atomic.Bool
	var all sync.WaitGroup
	for i := 0; i < runtime.GOMAXPROCS(0); i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for data := records(500); !stop.Load(); {
				works[*work](data)
			}
		}()
	}
	file, err := os.Create(*path)
	must(err)
	fmt.Println("ready", os.Getpid())
	time.Sleep(time.Second)
	// It then says that the rate cannot be set anew, and keeps this one.
	runtime.SetCPUProfileRate(*rate)
	from := now()
	must(pprof.StartCPUProfile(file))
	time.Sleep(time.Duration(*seconds) * time.Second)
	pprof.StopCPUProfile()
	fmt.Println("profiled", from, now())
	must(file.Close())
	stop.Store(true)
	all.Wait()
}
