// SPDX-License-Identifier: Apache-2.0

// shop: a small web service as people write them, with the unmodified OpenTelemetry SDK: HTTP and
// gRPC with their instrumentations, a database, a worker pool. The demo profiles it.
//
//	shop [-fast] [-listen ADDRESS] [-load SECONDS]
//	shop load -to ADDRESS [-seconds N] [-each N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == "load" {
		err = loadCommand(os.Args[2:])
	} else {
		err = serveCommand(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// shop is the running service.
type shop struct {
	fast     bool
	database *database
	stock    *stockClient
	pool     *pool
	supplier string
	self     string // address of our own HTTP server
	client   *http.Client
}

func serveCommand(args []string) error {
	flags := flag.NewFlagSet("shop", flag.ExitOnError)
	fast := flags.Bool("fast", false, "serve the older, faster /report")
	listen := flags.String("listen", "127.0.0.1:0", "loopback address to listen on")
	seconds := flags.Int("load", 0, "send ourselves the bounded mix for this many seconds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	if !loopback(listener.Addr().String()) {
		return fmt.Errorf("%s is not a loopback address", listener.Addr())
	}
	shutdown, err := setUpTracing()
	if err != nil {
		return err
	}
	defer shutdown()
	s := &shop{fast: *fast, self: listener.Addr().String(), pool: newPool(4),
		client: &http.Client{Timeout: 10 * time.Second,
			Transport: otelhttp.NewTransport(http.DefaultTransport)}}
	if s.database, err = openDatabase(ctx); err != nil {
		return err
	}
	defer s.database.close()
	if s.stock, err = startStock(); err != nil {
		return err
	}
	defer s.stock.close()
	if s.supplier, err = startSupplier(); err != nil {
		return err
	}
	return s.serve(ctx, listener, *seconds)
}

func (s *shop) serve(ctx context.Context, listener net.Listener, seconds int) error {
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	fmt.Printf("shop: listening on %s, pid %d\n", listener.Addr(), os.Getpid())
	if seconds > 0 {
		go func() { failed <- load(listener.Addr().String(), seconds, 1) }()
	}
	select {
	case err := <-failed:
		if err != nil {
			return err
		}
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(limit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && net.ParseIP(host).IsLoopback()
}
