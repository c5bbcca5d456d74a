// SPDX-License-Identifier: Apache-2.0
// Serving, and the HTTP side: takes requests as a Collector does, and answers well or badly as told.

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// Receivers refuse larger messages by default.
const bodyMax = 4 << 20

type server struct {
	directory, partial, retryAfter string
	status, times                  int
	message, broken, tls           string
	code, maxBytes                 int
	garbage, grpc, clientCA        bool
	forwarded                      bool
	delay, retryDelay              time.Duration

	mutex    sync.Mutex // guards what follows and the order of lines
	requests int
	problems int
	traces   int
}

func (s *server) run(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return errors.New("only loopback addresses")
	}
	fmt.Println(listener.Addr())
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	switch {
	case s.broken != "":
		return s.serveBroken(stop, listener)
	case s.grpc:
		err = s.serveGRPC(stop, listener)
	default:
		err = s.serveHTTP(stop, listener)
	}
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.problems > 0 {
		return fmt.Errorf("%d of %d requests had problems", s.problems, s.requests)
	}
	return nil
}

func (s *server) serveHTTP(stop context.Context, listener net.Listener) error {
	config, err := s.tlsConfig()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1development/profiles", s.export)
	mux.HandleFunc("POST /v1/traces", s.exportTraces)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, TLSConfig: config}
	go func() {
		<-stop.Done()
		_ = web.Shutdown(context.Background())
	}()
	if config != nil {
		err = web.ServeTLS(listener, "", "")
	} else {
		err = web.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// readBody gives the message and the bytes it took on the wire.
func readBody(request *http.Request) ([]byte, int, error) {
	wire, err := io.ReadAll(io.LimitReader(request.Body, bodyMax+1))
	if err != nil {
		return nil, 0, err
	}
	switch encoding := request.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return wire, len(wire), nil
	case "gzip":
		reader, err := gzip.NewReader(bytes.NewReader(wire))
		if err != nil {
			return nil, 0, err
		}
		data, err := io.ReadAll(io.LimitReader(reader, bodyMax+1))
		return data, len(wire), err
	default:
		return nil, 0, fmt.Errorf("content encoding %q", encoding)
	}
}

func checkHeaders(header http.Header) []string {
	var problems []string
	for name, want := range map[string]string{
		"Content-Type":                      "application/x-protobuf",
		"OTLP-Profiles-Development-Version": "1",
	} {
		if got := header.Get(name); got != want {
			problems = append(problems, fmt.Sprintf("header %s is %q", name, got))
		}
	}
	return problems
}

// isHabit tells what a Collector does to every request it sends on, and no receiver minds: an empty
// value in entry 0 of the attribute table, and no version.
func isHabit(problem string) bool {
	return problem == "entry 0 of the attribute table has 2 bytes" ||
		strings.HasPrefix(problem, "header OTLP-Profiles-Development-Version is ")
}

// exportTraces keeps them as they are: it is the profiles that are judged here.
func (s *server) exportTraces(w http.ResponseWriter, request *http.Request) {
	data, _, err := readBody(request)
	if err == nil && s.directory != "" {
		s.mutex.Lock()
		s.traces++
		path := filepath.Join(s.directory, fmt.Sprintf("traces-%04d.otlp", s.traces))
		s.mutex.Unlock()
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// An empty body is a response without a rejection.
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (s *server) export(w http.ResponseWriter, request *http.Request) {
	var result figures
	data, wire, err := readBody(request)
	if err == nil {
		result = checkReceived(data, wire)
	} else {
		result.Problems = append(result.Problems, err.Error())
	}
	result.Problems = append(result.Problems, checkHeaders(request.Header)...)
	if s.forwarded {
		result.Problems = slices.DeleteFunc(result.Problems, isHabit)
	}
	headers := []string{}
	for name, values := range request.Header {
		headers = append(headers, strings.ToLower(name)+": "+strings.Join(values, ", "))
	}
	slices.Sort(headers)
	bad := s.record(&result, data, headers)
	if s.wait(request.Context()) {
		s.answer(w, &result, bad)
	}
}

// checkReceived checks what came over a network just now.
func checkReceived(data []byte, wire int) figures {
	result := checkRequest(data)
	result.WireBytes = wire
	end := time.Unix(0, int64(result.TimeUnixNano+result.DurationNano))
	age := time.Since(end).Seconds()
	result.AgeSeconds = &age
	if len(data) > bodyMax {
		result.Problems = append(result.Problems, "larger than 4 MiB")
	}
	return result
}

// wait is false when the client has gone away meanwhile.
func (s *server) wait(ctx context.Context) bool {
	select {
	case <-time.After(s.delay):
		return true
	case <-ctx.Done():
		return false
	}
}

// record prints and keeps the request; whether it is to be answered badly.
func (s *server) record(result *figures, data []byte, headers []string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests++
	result.Request = s.requests
	if s.directory != "" {
		path := filepath.Join(s.directory, fmt.Sprintf("request-%04d.otlp", s.requests))
		text := strings.Join(headers, "\n") + "\n"
		if err := errors.Join(os.WriteFile(path, data, 0o600),
			os.WriteFile(strings.TrimSuffix(path, "otlp")+"headers", []byte(text), 0o600)); err != nil {
			result.Problems = append(result.Problems, err.Error())
		}
	}
	if len(result.Problems) > 0 {
		s.problems++
	}
	fmt.Println(result.line())
	return s.times < 0 || s.requests <= s.times
}

func (s *server) answer(w http.ResponseWriter, result *figures, bad bool) {
	w.Header().Set("Content-Type", "application/x-protobuf")
	switch {
	case len(result.Problems) > 0:
		http.Error(w, result.Problems[0], http.StatusBadRequest)
		return
	case bad && s.garbage:
		_, _ = w.Write([]byte("\xff\xff<html>\x1b[31mnot OTLP</html>"))
		return
	case bad && s.status != http.StatusOK:
		if s.retryAfter != "" {
			w.Header().Set("Retry-After", s.retryAfter)
		}
		w.WriteHeader(s.status)
		return
	}
	body, err := proto.Marshal(s.response())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(body)
}

// response is that of a success, with a partial_success when told so.
func (s *server) response() *collector.ExportProfilesServiceResponse {
	response := &collector.ExportProfilesServiceResponse{}
	if s.partial != "" {
		response.PartialSuccess = &collector.ExportProfilesPartialSuccess{
			RejectedProfiles: 1,
			ErrorMessage:     s.partial,
		}
	}
	return response
}
