// SPDX-License-Identifier: Apache-2.0

// The routes, and what each spends its time on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cpu-heavy", s.cpuHeavy)
	mux.HandleFunc("GET /report", s.report)
	mux.HandleFunc("GET /io-wait", s.ioWait)
	mux.HandleFunc("GET /fanout", s.fanout)
	mux.HandleFunc("GET /price", s.price)
	return otelhttp.NewHandler(mux, "shop", otelhttp.WithSpanNameFormatter(
		func(_ string, r *http.Request) string {
			if r.Pattern != "" {
				return r.Pattern
			}
			return r.Method + " " + r.URL.Path
		}))
}

// parameter reads a number from the query, kept within 1 and most.
func parameter(r *http.Request, name string, otherwise, most int) int {
	value, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return min(max(value, 1), most)
}

func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return true
}

func countPrimes(from, to int) int {
	count := 0
	for n := max(from, 2); n < to; n++ {
		if isPrime(n) {
			count++
		}
	}
	return count
}

// cpuHeavy counts the primes under `limit` (seconds of CPU time), or as far as it gets in `ms`.
func (s *shop) cpuHeavy(w http.ResponseWriter, r *http.Request) {
	const chunk, limitMax = 10_000, 1_000_000_000
	limit := parameter(r, "limit", 6_000_000, limitMax)
	if r.URL.Query().Has("ms") {
		limit = limitMax
	}
	until := time.Now().Add(time.Duration(parameter(r, "ms", 60_000, 60_000)) * time.Millisecond)
	count, next := 0, 0
	for next < limit && time.Now().Before(until) && r.Context().Err() == nil {
		count += countPrimes(next, min(next+chunk, limit))
		next = min(next+chunk, limit)
	}
	fmt.Fprintf(w, "%d primes under %d\n", count, next)
}

type reportDocument struct {
	Customers map[int]string `json:"customers"`
	Orders    []order        `json:"orders"`
}

// report reads two tables in two short spans and turns them into JSON in a third.
func (s *shop) report(w http.ResponseWriter, r *http.Request) {
	ctx, span := tracer.Start(r.Context(), "report")
	defer span.End()
	orders, err := s.database.orders(ctx, parameter(r, "rows", 1000, 2000))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	customers, err := s.database.customers(ctx)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	document, err := s.serializeReport(ctx, reportDocument{customers, orders})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}

// serializeReport is the shop's regression: to keep the document under a size limit, the newer
// version serializes all of it again for every row it adds.
func (s *shop) serializeReport(ctx context.Context, all reportDocument) ([]byte, error) {
	const sizeMax = 1 << 20
	_, span := tracer.Start(ctx, "serialize report")
	defer span.End()
	if s.fast {
		return json.Marshal(all)
	}
	document := []byte("{}")
	for rows := range all.Orders {
		larger, err := json.Marshal(reportDocument{all.Customers, all.Orders[:rows+1]})
		if err != nil {
			return nil, err
		}
		if len(larger) > sizeMax {
			break
		}
		document = larger
	}
	return document, nil
}

// ioWait waits for a slow supplier, and burns nothing.
func (s *shop) ioWait(w http.ResponseWriter, r *http.Request) {
	answer, err := s.askSupplier(r.Context(), parameter(r, "ms", 2000, 30_000))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprint(w, answer)
}

func (s *shop) askSupplier(ctx context.Context, milliseconds int) (string, error) {
	_, span := tracer.Start(ctx, "wait for supplier")
	defer span.End()
	connection, err := net.Dial("tcp", s.supplier)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	fmt.Fprintf(connection, "%d\n", milliseconds)
	return bufio.NewReader(connection).ReadString('\n')
}

// startSupplier answers every question after as many milliseconds as it asks for.
func startSupplier() (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				var milliseconds int
				if _, err := fmt.Fscanln(connection, &milliseconds); err == nil {
					time.Sleep(time.Duration(milliseconds) * time.Millisecond)
					fmt.Fprintln(connection, "in stock")
				}
			}()
		}
	}()
	return listener.Addr().String(), nil
}

// fanout works in child goroutines, in the pool, and behind a gRPC and an HTTP hop.
func (s *shop) fanout(w http.ResponseWriter, r *http.Request) {
	ctx, span := tracer.Start(r.Context(), "fan out")
	defer span.End()
	const parts = 4
	scores, labels := make([]uint64, parts), make([]string, parts)
	var working sync.WaitGroup
	for i := range parts {
		working.Add(2)
		go func() {
			defer working.Done()
			scores[i] = scorePart(i)
		}()
		s.pool.submit(job{ctx, func(ctx context.Context) {
			defer working.Done()
			labels[i] = renderLabel(ctx, i)
		}})
	}
	units, err := s.stock.units(ctx, "primes")
	price := ""
	if err == nil {
		price, err = s.fetchPrice(ctx)
	}
	working.Wait()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintf(w, "%d in stock, %s, scores %v, labels %v\n", units, price, scores, labels)
}

// scorePart runs in goroutines that know of no span.
func scorePart(part int) uint64 {
	score := uint64(part + 1)
	for range 4_000_000 {
		score ^= score << 13
		score ^= score >> 7
		score ^= score << 17
	}
	return score
}

func (s *shop) fetchPrice(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.self+"/price", nil)
	if err != nil {
		return "", err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	return string(body), err
}

func (s *shop) price(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%d cents", 100+countPrimes(0, 20_000)%100)
}
