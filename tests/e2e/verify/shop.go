// SPDX-License-Identifier: Apache-2.0

// The command "shop": judges a profile of the shop against the spans that the shop printed.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// rootSpan is a line that the shop printed when a request's first span had ended.
type rootSpan struct {
	name, trace, span string
	took              time.Duration
}

var rootLine = regexp.MustCompile(`^span (.+) trace=([0-9a-f]{32}) span=([0-9a-f]{16}) (\S+)$`)

func readShopLog(path string) ([]rootSpan, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var roots []rootSpan
	in := bufio.NewScanner(file)
	for in.Scan() {
		part := rootLine.FindStringSubmatch(in.Text())
		if part == nil {
			continue
		}
		took, err := time.ParseDuration(part[4])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		roots = append(roots, rootSpan{part[1], part[2], part[3], took})
	}
	return roots, in.Err()
}

func verifyShop(args []string) error {
	flags := flag.NewFlagSet("shop", flag.ExitOnError)
	logPath := flags.String("log", "", "what the shop printed")
	pprofPath := flags.String("pprof", "", "pprof file of spanprof")
	if err := flags.Parse(args); err != nil {
		return err
	}
	roots, err := readShopLog(*logPath)
	if err != nil {
		return err
	}
	samples, err := readPprof(*pprofPath)
	if err != nil {
		return err
	}
	return judgeShop(roots, samples)
}

func judgeShop(roots []rootSpan, samples []taggedSample) error {
	routes := make(map[string]map[string]bool) // traces by route
	bySpan := make(map[string]rootSpan)
	for _, r := range roots {
		if routes[r.name] == nil {
			routes[r.name] = make(map[string]bool)
		}
		routes[r.name][r.trace] = true
		bySpan[r.span] = r
	}
	var total, tagged int64
	for _, s := range samples {
		total += s.ns
		if s.span != "" {
			tagged += s.ns
		}
	}
	fmt.Printf("%d requests printed; %.2f s of CPU, %.0f %% of it in spans\n", len(roots),
		float64(total)/1e9, 100*float64(tagged)/float64(max(total, 1)))
	var list checklist
	checkCPUHeavy(&list, bySpan, samples)
	checkReport(&list, routes["GET /report"], samples)
	checkIOWait(&list, routes["GET /io-wait"], samples)
	checkFanout(&list, routes["GET /fanout"], samples)
	return list.result()
}

// sdkTrace is the package of the SDK's spans.
const sdkTrace = "go.opentelemetry.io/otel/sdk/trace."

// holds tells whether the sample's stack has a function whose name starts with prefix.
func (s *taggedSample) holds(prefix string) bool {
	return slices.ContainsFunc(s.functions, func(f string) bool {
		return strings.HasPrefix(f, prefix)
	})
}

// checkCPUHeavy: the root span's own ID leads to countPrimes, and countPrimes to no other span.
func checkCPUHeavy(list *checklist, bySpan map[string]rootSpan, samples []taggedSample) {
	var own, primes, primesOwn, primesOthers int64
	spans := make(map[string]bool)
	for i := range samples {
		s := &samples[i]
		r, printed := bySpan[s.span]
		heavy := printed && r.name == "GET /cpu-heavy" && r.trace == s.trace
		if heavy {
			own += s.ns
			spans[s.span] = true
		}
		if s.holds("main.countPrimes") {
			primes += s.ns
			switch {
			case heavy:
				primesOwn += s.ns
			case s.name == "GET /price" || s.name == "shop.Stock/Units":
				primesOthers += s.ns // these count a few primes, too
			}
		}
	}
	list.check(len(spans) > 0 && primesOwn*100 > own*95,
		"/cpu-heavy: %d printed span IDs have CPU, %.1f %% of it in main.countPrimes", len(spans),
		part(primesOwn, own))
	list.check(primesOwn*100 > (primes-primesOthers)*95 && primesOthers*100 < primes*20,
		"main.countPrimes: %.1f %% of its CPU on those spans, %.1f %% on those of /price and Stock",
		part(primesOwn, primes), part(primesOthers, primes))
}

// checkReport: the JSON work sits on the span around it, and the database spans have little.
func checkReport(list *checklist, traces map[string]bool, samples []taggedSample) {
	var all, database, serialize, json, jsonRight int64
	for i := range samples {
		s := &samples[i]
		if !traces[s.trace] {
			continue
		}
		all += s.ns
		if strings.HasPrefix(s.name, "db.query") {
			database += s.ns
		}
		if s.name == "serialize report" {
			serialize += s.ns
		}
		// While the SDK makes the span there is none yet, and at the end of its work there is none left.
		if s.holds("main.(*shop).serializeReport") && !s.holds(sdkTrace+"(*tracer).Start") &&
			!s.holds(sdkTrace+"(*recordingSpan).End") {
			json += s.ns
			if s.name == "serialize report" {
				jsonRight += s.ns
			}
		}
	}
	list.check(all > 0 && serialize*2 > all, "/report: %.1f %% of its CPU on span serialize report",
		part(serialize, all))
	list.check(database*5 < all, "/report: %.1f %% of its CPU on db spans", part(database, all))
	list.check(json > 0 && jsonRight*1000 >= json*999,
		"serializeReport: %.2f %% of its CPU on span serialize report", part(jsonRight, json))
}

func checkIOWait(list *checklist, traces map[string]bool, samples []taggedSample) {
	var all int64
	for i := range samples {
		if traces[samples[i].trace] {
			all += samples[i].ns
		}
	}
	list.check(len(traces) > 0 && all < int64(len(traces))*int64(100*time.Millisecond),
		"/io-wait: %d requests with %.1f ms of CPU each", len(traces),
		float64(all)/1e6/float64(max(len(traces), 1)))
}

// checkFanout: children without a span of their own work for a span of the request's trace.
func checkFanout(list *checklist, traces map[string]bool, samples []taggedSample) {
	var child, childRight, pooled, pooledRight int64
	for i := range samples {
		s := &samples[i]
		right := traces[s.trace]
		if s.holds("main.scorePart") {
			child += s.ns
			if right {
				childRight += s.ns
			}
		}
		if s.holds("main.renderLabel") {
			pooled += s.ns
			if right && s.name == "render label" {
				pooledRight += s.ns
			}
		}
	}
	list.check(child > 0 && childRight*100 >= child*90,
		"/fanout: %.1f %% of its child goroutines' CPU on the request's trace",
		part(childRight, child))
	list.check(pooled > 0 && pooledRight*100 >= pooled*90,
		"/fanout: %.1f %% of the worker pool's CPU on span render label", part(pooledRight, pooled))
}

func part(some, all int64) float64 {
	return 100 * float64(some) / float64(max(all, 1))
}
