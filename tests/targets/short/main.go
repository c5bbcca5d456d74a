// SPDX-License-Identifier: Apache-2.0

// short: processes that live only so long, one after the other.
//
//	short -ms N                        burns so much CPU time, then ends
//	short -ms N -processes N [-fresh]  runs itself so often, each time by another file when -fresh,
//	                                   and prints "used NS": their CPU time
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

var sink uint64

//go:noinline
func burn(ns int64) {
	var usage syscall.Rusage
	for x := uint64(1); usage.Utime.Nano()+usage.Stime.Nano() < ns; {
		for i := 0; i < 100000; i++ {
			x = x*6364136223846793005 + 1442695040888963407
		}
		sink = x
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			log.Fatal(err)
		}
	}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// run tells the CPU time that it took.
func run(program string, ms int) (time.Duration, error) {
	command := exec.Command(program, "-ms", strconv.Itoa(ms))
	command.Stderr = os.Stderr
	err := command.Run()
	if err != nil {
		return 0, err
	}
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

func main() {
	ms := flag.Int("ms", 50, "CPU time of a process")
	processes := flag.Int("processes", 0, "that are run one after the other; 0: this one burns")
	fresh := flag.Bool("fresh", false, "each by a file of its own")
	flag.Parse()
	if *processes == 0 {
		burn(int64(*ms) * 1e6)
		return
	}
	program, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	var used time.Duration
	for i := 0; i < *processes; i++ {
		path := program
		if *fresh {
			path = filepath.Join(filepath.Dir(program), fmt.Sprintf("fresh-%d", i))
			if err := copyFile(path, program); err != nil {
				log.Fatal(err)
			}
		}
		took, err := run(path, *ms)
		if err != nil {
			log.Fatal(err)
		}
		used += took
		if *fresh {
			os.Remove(path)
		}
	}
	fmt.Println("used", used.Nanoseconds())
}
