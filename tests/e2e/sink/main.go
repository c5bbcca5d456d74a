// SPDX-License-Identifier: Apache-2.0
// Command sink receives OTLP profiles over HTTP or gRPC on the loopback and checks each request;
// with "check FILE..." it checks files. One line of JSON per request or file; exit 1 on any problem.
// "list FILE..." and "unframe FILE DIRECTORY": see list.go; "rows FILE...": see rows.go; "join" and
// "foreign": see join.go; "certificates DIR": see certificates.go.

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "check" {
		os.Exit(checkFiles(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "list" {
		exitOn(listFiles(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "rows" {
		exitOn(printRows(os.Args[2:]))
	}
	if len(os.Args) == 4 && os.Args[1] == "unframe" {
		exitOn(unframe(os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 3 && os.Args[1] == "join" {
		exitOn(join(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "foreign" {
		exitOn(sendForeign(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "certificates" {
		exitOn(makeCertificates(os.Args[2]))
	}
	var s server
	listen := flag.String("listen", "127.0.0.1:0", "address; the first line printed tells the port")
	flag.StringVar(&s.directory, "dir", "", "keep every request there, uncompressed, and its headers")
	flag.IntVar(&s.status, "status", 200, "HTTP status of the answers")
	flag.IntVar(&s.times, "times", -1, "answer badly so often, then well; -1 always")
	flag.BoolVar(&s.garbage, "garbage", false, "answer 200 with what is no protobuf")
	flag.StringVar(&s.partial, "partial", "", "answer 200 with this partial_success message")
	flag.StringVar(&s.retryAfter, "retry-after", "", "Retry-After of bad answers")
	flag.DurationVar(&s.delay, "delay", 0*time.Second, "wait before every answer")
	flag.BoolVar(&s.forwarded, "forwarded", false, "a Collector sends: mind none of its own habits")
	flag.BoolVar(&s.grpc, "grpc", false, "take requests over gRPC instead of HTTP")
	flag.IntVar(&s.code, "code", 0, "gRPC status of the answers")
	flag.StringVar(&s.message, "message", "", "message of a gRPC status")
	flag.DurationVar(&s.retryDelay, "retry-delay", -1, "RetryInfo of a gRPC status; below 0 none")
	flag.IntVar(&s.maxBytes, "max-bytes", bodyMax, "the largest message taken over gRPC")
	flag.StringVar(&s.broken, "broken", "", "be a server that fails in this way (serve_broken.go)")
	flag.StringVar(&s.tls, "tls", "", "serve TLS with the certificate of this folder")
	flag.BoolVar(&s.clientCA, "client-ca", false, "with -tls: ask for the client's certificate")
	flag.Parse()
	exitOn(s.run(*listen))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "sink:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func checkFiles(paths []string) int {
	code := 0
	if len(paths) == 0 {
		fmt.Fprintln(os.Stderr, "usage: sink check FILE...")
		return 2
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "sink:", err)
			code = 1
			continue
		}
		result := checkRequest(data)
		result.File = filepath.Base(path)
		fmt.Println(result.line())
		if len(result.Problems) > 0 {
			code = 1
		}
	}
	return code
}
