// SPDX-License-Identifier: Apache-2.0

// A real HTTP client and server: two requests on one keep-alive connection, and the goroutines that
// net/http keeps for the connection, made while the first request was under way.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/trace"
	"spanprof.test/patterns/pattern"
)

var (
	httpDial           = pattern.New(pattern.Inherited, "http-dial")
	httpWriteLoop      = pattern.New(pattern.Inherited, "http-write-loop")
	httpReadLoop       = pattern.New(pattern.Inherited, "http-read-loop")
	httpWriteLoopLater = pattern.New(pattern.Inherited, "http-write-loop-later")
	httpReadLoopLater  = pattern.New(pattern.Inherited, "http-read-loop-later")
	httpServerRead     = pattern.New(pattern.Own, "http-server-read")
	httpServerReadLeak = pattern.New(pattern.Own, "http-server-read-after-leak")
	httpHandler        = pattern.New(pattern.Own, "http-handler")
	httpHandlerAgain   = pattern.New(pattern.Own, "http-handler-again")
	httpHandlerLeak    = pattern.New(pattern.Own, "http-handler-after-leak")
)

// workingConn works on the goroutines that read and write it, once each time that it is told to.
type workingConn struct {
	net.Conn
	onRead, onWrite atomic.Pointer[func()]
}

func (c *workingConn) Read(to []byte) (int, error) {
	n, err := c.Conn.Read(to)
	if n > 0 {
		call(&c.onRead)
	}
	return n, err
}

func (c *workingConn) Write(from []byte) (int, error) {
	call(&c.onWrite)
	return c.Conn.Write(from)
}

func call(once *atomic.Pointer[func()]) {
	if work := once.Swap(nil); work != nil {
		(*work)()
	}
}

func doNext(once *atomic.Pointer[func()], kind *pattern.Kind, right ...trace.SpanContext) {
	work := func() { kind.Work(unit, right...) }
	once.Store(&work)
}

// workingListener hands out the connections that it accepts.
type workingListener struct {
	net.Listener
	accepted chan *workingConn
}

func (l *workingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	working := &workingConn{Conn: conn}
	l.accepted <- working
	return working, nil
}

// web is a server with one client at a time.
type web struct {
	server   *httptest.Server
	accepted chan *workingConn
	// By the request before. Held, or the collector may give its memory to another object.
	leaked trace.Span
}

func newWeb() pattern.Scenario {
	w := &web{accepted: make(chan *workingConn, 1)}
	routes := http.NewServeMux()
	routes.HandleFunc("/first", func(out http.ResponseWriter, in *http.Request) {
		httpHandler.Work(unit, trace.SpanContextFromContext(in.Context()))
		fmt.Fprintln(out, "first")
	})
	routes.HandleFunc("/again", func(out http.ResponseWriter, in *http.Request) {
		httpHandlerAgain.Work(unit, trace.SpanContextFromContext(in.Context()))
		_, w.leaked = tracer.Start(in.Context(), "forgotten")
		fmt.Fprintln(out, "again")
	})
	routes.HandleFunc("/leaked", func(out http.ResponseWriter, in *http.Request) {
		httpHandlerLeak.Work(unit, trace.SpanContextFromContext(in.Context()))
		fmt.Fprintln(out, "leaked")
	})
	w.server = httptest.NewUnstartedServer(otelhttp.NewHandler(routes, "serve"))
	w.server.Listener = &workingListener{w.server.Listener, w.accepted}
	w.server.Start()
	return pattern.Scenario{Run: w.run, Kinds: []*pattern.Kind{httpDial, httpWriteLoop,
		httpReadLoop, httpWriteLoopLater, httpReadLoopLater, httpServerRead, httpServerReadLeak,
		httpHandler, httpHandlerAgain, httpHandlerLeak}}
}

// run makes a client with a connection of its own, and three requests on it.
func (w *web) run() {
	var conn *workingConn
	transport := &http.Transport{}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		client := trace.SpanContextFromContext(ctx)
		httpDial.Work(unit, client)
		dialled, err := (&net.Dialer{}).DialContext(ctx, network, address)
		conn = &workingConn{Conn: dialled}
		doNext(&conn.onWrite, httpWriteLoop, client)
		doNext(&conn.onRead, httpReadLoop, client)
		return conn, err
	}
	var client trace.SpanContext
	observed := roundTripper(func(request *http.Request) (*http.Response, error) {
		client = trace.SpanContextFromContext(request.Context())
		if conn != nil && strings.HasSuffix(request.URL.Path, "/again") {
			// The span that they inherited is over; what stands on their stacks may be this one.
			page := request.Context().Value(outerKey{}).(context.Context)
			outer := trace.SpanContextFromContext(page)
			doNext(&conn.onWrite, httpWriteLoopLater, client, outer, pattern.None)
			doNext(&conn.onRead, httpReadLoopLater, client, outer, pattern.None)
		}
		return transport.RoundTrip(request)
	})
	browser := &http.Client{Transport: otelhttp.NewTransport(observed)}
	w.get(browser, "/first")
	server := <-w.accepted
	doNext(&server.onRead, httpServerRead, pattern.None)
	w.get(browser, "/again")
	doNext(&server.onRead, httpServerReadLeak, w.leaked.SpanContext())
	w.get(browser, "/leaked")
	transport.CloseIdleConnections()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// outerKey finds the context without the client's span.
type outerKey struct{}

// get is one request inside a span of its own.
func (w *web) get(browser *http.Client, path string) {
	ctx, outer := tracer.Start(context.Background(), "page")
	defer outer.End()
	ctx = context.WithValue(ctx, outerKey{}, ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		panic(err)
	}
	response, err := browser.Do(request)
	if err != nil {
		panic(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		panic(err)
	}
	response.Body.Close()
}
