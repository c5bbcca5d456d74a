// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const startLimit = 30 * time.Second

// childrenKey leads to the WaitGroup of all children in the context that they end with.
type childrenKey struct{}

func withChildren(ctx context.Context) (context.Context, *sync.WaitGroup) {
	children := new(sync.WaitGroup)
	return context.WithValue(ctx, childrenKey{}, children), children
}

// line is one of a program's output, with when it came.
type line struct {
	text string
	at   time.Time
}

// program is a child whose output, both streams, is read line by line.
type program struct {
	command *exec.Cmd
	started time.Time
	lines   chan line
	done    chan struct{}
	failure error

	mutex sync.Mutex
	all   []line
}

// watch reads what a started child prints, until it has ended.
func (p *program) watch(ctx context.Context, reader io.ReadCloser) {
	if children, found := ctx.Value(childrenKey{}).(*sync.WaitGroup); found {
		children.Go(func() { p.read(reader) })
		return
	}
	go p.read(reader)
}

// launch starts a child that ends with ctx. Its lines are kept, and passed on while there is room.
func launch(ctx context.Context, name string, arguments ...string) (*program, error) {
	p := &program{lines: make(chan line, 1024), done: make(chan struct{})}
	p.command = exec.CommandContext(ctx, name, arguments...)
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGTERM) }
	p.command.WaitDelay = 5 * time.Second
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.command.Stdout, p.command.Stderr = writer, writer
	p.started = time.Now()
	err = p.command.Start()
	writer.Close()
	if err != nil {
		reader.Close()
		return nil, err
	}
	p.watch(ctx, reader)
	return p, nil
}

func (p *program) read(reader io.ReadCloser) {
	scanner := bufio.NewScanner(reader)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		l := line{scanner.Text(), time.Now()}
		p.mutex.Lock()
		p.all = append(p.all, l)
		p.mutex.Unlock()
		select {
		case p.lines <- l:
		default:
		}
	}
	reader.Close()
	p.failure = p.command.Wait()
	close(p.done)
}

func (p *program) pid() int { return p.command.Process.Pid }

// find waits for a line that holds the text.
func (p *program) find(text string) (line, error) {
	limit := time.After(startLimit)
	for {
		select {
		case l := <-p.lines:
			if strings.Contains(l.text, text) {
				return l, nil
			}
		case <-p.done:
			return line{}, fmt.Errorf("%s ended before it said %q:\n%s", p.command.Path, text, p.output())
		case <-limit:
			return line{}, fmt.Errorf("%s does not say %q:\n%s", p.command.Path, text, p.output())
		}
	}
}

// skip forgets the lines that have come until now.
func (p *program) skip() {
	for {
		select {
		case <-p.lines:
		default:
			return
		}
	}
}

func (p *program) output() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var text strings.Builder
	for _, l := range p.all {
		text.WriteString(l.text + "\n")
	}
	return text.String()
}

// stop asks the child to end, waits until it has, and gives its output.
func (p *program) stop(signal syscall.Signal) (string, error) {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return "", err
	}
	<-p.done
	return p.output(), p.failure
}

// cpu is the user and system time of a child that has ended.
func (p *program) cpu() time.Duration {
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}

// cpuNow is what the threads of a living process have used, to the nanosecond.
func cpuNow(pid int) (time.Duration, error) { return threadCPU(pid, "") }

// threadCPU is the same of the threads of that name; "" all.
func threadCPU(pid int, name string) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has no schedstat", pid)
	}
	var sum time.Duration
	for _, file := range files {
		comm, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
		if name != "" && strings.TrimSpace(string(comm)) != name {
			continue
		}
		var used int64
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has just ended
		}
		if _, err := fmt.Sscan(string(text), &used); err != nil {
			return 0, err
		}
		sum += time.Duration(used)
	}
	return sum, nil
}

// status reads a field in kB of /proc/PID/status.
func status(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(l, field+":"); found {
			return strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
}

// pause sleeps unless ctx ends first.
func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
