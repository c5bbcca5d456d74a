// SPDX-License-Identifier: Apache-2.0
// Servers that speak HTTP/2 in cleartext, but not gRPC, or gRPC that goes wrong half-way.

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// A message of an empty partial_success in its frame.
const wholeAnswer = "\x00\x00\x00\x00\x02\x0a\x00"

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
}

var brokenAnswers = map[string]func(http.ResponseWriter, *http.Request){
	"page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>\x1b[31mwelcome</html>")
	},
	"no-trailer": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, wholeAnswer)
	},
	"half": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, wholeAnswer[:4])
		flush(w)
		panic(http.ErrAbortHandler)
	},
	"cut": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, wholeAnswer[:6])
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	},
	"endless": func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	},
	"slow": func(w http.ResponseWriter, request *http.Request) {
		for request.Context().Err() == nil {
			if _, err := io.WriteString(w, "\x00"); err != nil {
				return
			}
			flush(w)
			time.Sleep(50 * time.Millisecond)
		}
	},
	"long-message": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", strings.Repeat("%1b[31mlong", 10000))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "3")
	},
	"proxy": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no upstream", http.StatusBadGateway)
	},
}

func (s *server) serveBroken(stop context.Context, listener net.Listener) error {
	answer, ok := brokenAnswers[s.broken]
	if !ok {
		return errors.New("no such broken server: " + s.broken)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	web := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, request *http.Request) {
			_, _ = io.Copy(io.Discard, request.Body)
			w.Header().Set("Content-Type", "application/grpc")
			answer(w, request)
		})}
	go func() {
		<-stop.Done()
		_ = web.Close()
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
