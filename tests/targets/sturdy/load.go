// SPDX-License-Identifier: Apache-2.0

// Requests on a schedule, and how long each took.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// record is one request. A request that could not begin in time, since its client still waited for
// the one before, counts from when it was due: a pause must not hide the requests that it delays.
type record struct {
	server int
	due    int64 // wall clock
	took   time.Duration
}

type client struct {
	server  int
	url     string
	records []record
	failed  error
}

const recordsMax = 1 << 20 // of one client

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && net.ParseIP(host).IsLoopback()
}

func loadCommand(args []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	to := flags.String("to", "", "addresses of servers, the first of which matters most")
	first := flags.Int("clients", 8, "clients of the first server")
	each := flags.Int("each", 1, "clients of each other one")
	every := flags.Duration("every", 10*time.Millisecond, "from one request of a client to the next")
	path := flags.String("records", "", "file for a line about each request")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var clients []*client
	for server, address := range strings.Split(*to, ",") {
		if !loopback(address) {
			return fmt.Errorf("%q is not a loopback address with a port", address)
		}
		count := *each
		if server == 0 {
			count = *first
		}
		for range count {
			clients = append(clients, &client{server: server, url: "http://" + address})
		}
	}
	stop, signals := make(chan struct{}), ending()
	var running sync.WaitGroup
	for i, c := range clients {
		shift := *every * time.Duration(i) / time.Duration(len(clients))
		running.Go(func() { c.ask(shift, *every, stop) })
	}
	fmt.Println("load: ready")
	<-signals
	close(stop)
	running.Wait()
	var failures []error
	for _, c := range clients {
		failures = append(failures, c.failed)
	}
	return errors.Join(append(failures, writeRecords(*path, clients))...)
}

// ask sends requests until it is told to stop or one fails.
func (c *client) ask(shift, every time.Duration, stop <-chan struct{}) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Timeout: 30 * time.Second, Transport: transport}
	due := time.Now().Add(shift)
	for len(c.records) < recordsMax {
		wait := time.NewTimer(time.Until(due))
		select {
		case <-stop:
			wait.Stop()
			return
		case <-wait.C:
		}
		begin := due
		if n := len(c.records); n == 0 || c.records[n-1].end() < due.UnixNano() {
			begin = time.Now() // it was the timer that came late
		}
		if c.failed = get(caller, c.url); c.failed != nil {
			return
		}
		c.records = append(c.records, record{c.server, begin.UnixNano(), time.Since(begin)})
		due = due.Add(every)
	}
}

func (r *record) end() int64 { return r.due + r.took.Nanoseconds() }

func get(caller *http.Client, url string) error {
	response, err := caller.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err = io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

func writeRecords(path string, clients []*client) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	for _, c := range clients {
		for _, r := range c.records {
			fmt.Fprintln(out, r.server, r.due, r.took.Nanoseconds())
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
