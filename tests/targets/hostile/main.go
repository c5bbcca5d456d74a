// SPDX-License-Identifier: Apache-2.0

// hostile: a service whose span names are what an attacker would send: requests often end up in them.
// It burns CPU in one span after another and prints their IDs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

var names = []struct{ about, name string }{
	{"title", "title \x1b]0;owned\x07\x1b[2Jowned"},
	{"color", "color \x1b[31mred\x1b[0m"},
	{"C1", "C1 \u009b31m and \x9b31m"},
	{"bidi", "bidi \u202egnirts\u202c \u2066x\u2069"},
	{"lines", "lines\nspanprof: error: forged\r\n\t\v\fX\u2028Y\u2029Z\u0085"},
	{"invalid", "invalid \xff\xfe\xc0\x80\xed\xa0\x80 UTF-8"},
	{"cut", strings.Repeat("x", 254) + "\u20ac\u20ac"},
	{"NUL", "NUL \x00 and DEL \x7f"},
	{"folded", "folded;main.forged 1000000"},
	{"long", strings.Repeat("long ", 1<<20/5)},
	{"empty", ""},
}

func main() {
	rounds := flag.Int("rounds", 3, "how often each name")
	flag.Parse()
	if *rounds < 1 || *rounds > 1000 {
		fmt.Fprintln(os.Stderr, "hostile: -rounds 1..1000")
		os.Exit(2)
	}
	otel.SetTracerProvider(sdktrace.NewTracerProvider())
	// Spans of the first milliseconds of a process are not this program's subject.
	time.Sleep(200 * time.Millisecond)
	tracer := otel.Tracer("hostile")
	for range *rounds {
		for _, n := range names {
			_, span := tracer.Start(context.Background(), n.name)
			work(50 * time.Millisecond)
			span.End()
			fmt.Printf("span %s %s\n", span.SpanContext().SpanID(), n.about)
		}
	}
}

var sink uint64

// used is the CPU time of this process.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// work is placed by a line directive: the end-to-end test puts control characters into its name.
//
//line /hostile/FILE.go:1
func work(amount time.Duration) {
	for until := used() + amount; used() < until; {
		for range 1_000_000 {
			sink = sink*6364136223846793005 + 1442695040888963407
		}
	}
}
