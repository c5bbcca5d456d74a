// SPDX-License-Identifier: Apache-2.0

// The load: a mix of concurrent requests, bounded in time and number, to a loopback address only.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// mix is what the load sends: every route has its own clients, each waiting for its answer.
var mix = []struct {
	path  string
	wait  time.Duration // before the first: go statements are watched once a span was seen
	pause time.Duration // between two
}{
	{"/cpu-heavy?ms=1500", 0, 200 * time.Millisecond},
	{"/report", 0, 50 * time.Millisecond},
	{"/io-wait", 0, 100 * time.Millisecond},
	{"/fanout", time.Second, 100 * time.Millisecond},
}

// requestsMax bounds the requests of one client.
const requestsMax = 10_000

func loadCommand(args []string) error {
	flags := flag.NewFlagSet("shop load", flag.ExitOnError)
	to := flags.String("to", "", "address of the shop")
	seconds := flags.Int("seconds", 10, "how long, 600 at most")
	each := flags.Int("each", 1, "clients for each route, 64 at most")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return load(*to, *seconds, *each)
}

func load(address string, seconds, each int) error {
	if !loopback(address) {
		return fmt.Errorf("%q is not a loopback address with a port", address)
	}
	if seconds < 1 || seconds > 600 || each < 1 || each > 64 {
		return errors.New("1 to 600 seconds and 1 to 64 clients")
	}
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	counts, failures := make([]int, len(mix)*each), make([]error, len(mix)*each)
	var clients sync.WaitGroup
	for i := range counts {
		clients.Go(func() {
			route := mix[i%len(mix)]
			time.Sleep(route.wait)
			counts[i], failures[i] = ask("http://"+address+route.path, route.pause, until)
		})
	}
	clients.Wait()
	total := 0
	for _, count := range counts {
		total += count
	}
	fmt.Printf("load: %d requests in %d s\n", total, seconds)
	return errors.Join(failures...)
}

// ask sends the same request again and again until the time is up or one fails.
func ask(url string, pause time.Duration, until time.Time) (count int, err error) {
	client := &http.Client{Timeout: 30 * time.Second}
	for time.Now().Before(until) && count < requestsMax {
		response, err := client.Get(url)
		if err != nil {
			return count, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", url, response.Status)
		}
		if err != nil {
			return count, err
		}
		count++
		time.Sleep(pause)
	}
	return count, nil
}
