// SPDX-License-Identifier: Apache-2.0

// identity: a service that says who it is, in its environment or in code, and prints what its own
// traces carry of that: the resource of the first span that its exporter is given, as lines
// "resource KEY=VALUE"; then "ready". It goes on with spans that burn CPU until SIGTERM.
//
//	-set none     nothing in code: what the SDK makes of the environment
//	-set code     a resource of its own, as WithResource merges it with the environment
//	-set merged   the SDK's default resource, with one of its own over it
//	-set crowd    the same among many more attributes
//	-set bare     a resource in code that does not name the service
//	-global       the provider is set for all (otel.SetTracerProvider)
//	-after D      the provider is made, and spans begin, after so long
//	-second D     a second provider, of another name, has spans after so long
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// taken is all that a profiler may take of a resource.
var taken = map[attribute.Key]bool{"service.name": true, "service.version": true,
	"service.namespace": true, "service.instance.id": true, "deployment.environment": true,
	"deployment.environment.name": true}

// exporter prints the resource of the first span.
type exporter struct{ once sync.Once }

func (e *exporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.once.Do(func() {
		for _, pair := range spans[0].Resource().Attributes() {
			if taken[pair.Key] {
				fmt.Printf("resource %s=%s\n", pair.Key, pair.Value.Emit())
			}
		}
		fmt.Println("ready")
	})
	return nil
}

func (e *exporter) Shutdown(context.Context) error { return nil }

func inCode() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("service.name", "named in code"),
		attribute.String("service.version", "7.1-code"),
		attribute.String("service.instance.id", "instance/code"),
		attribute.String("deployment.environment.name", "staging"),
		attribute.String("deployment.environment", "staging of old"),
		attribute.String("team", "not taken"),
	}
}

func crowd() []attribute.KeyValue {
	all := inCode()
	for i := 0; i < 100; i++ {
		all = append(all, attribute.Int(fmt.Sprintf("zone.%d", i), i),
			attribute.String(fmt.Sprintf("a.zone.%d", i), "not taken"))
	}
	return all
}

// options are those of the provider: what the service says of itself.
func options(set string) []sdktrace.TracerProviderOption {
	own := []attribute.KeyValue(nil)
	switch set {
	case "none":
		return nil
	case "code":
		r, err := resource.New(context.Background(), resource.WithAttributes(inCode()...))
		fail(err)
		return []sdktrace.TracerProviderOption{sdktrace.WithResource(r)}
	case "bare":
		r := resource.NewSchemaless(attribute.String("service.version", "bare"))
		return []sdktrace.TracerProviderOption{sdktrace.WithResource(r)}
	case "merged":
		own = inCode()
	case "crowd":
		own = crowd()
	default:
		fail(fmt.Errorf("no -set %q", set))
	}
	r, err := resource.Merge(resource.Default(), resource.NewSchemaless(own...))
	fail(err)
	return []sdktrace.TracerProviderOption{sdktrace.WithResource(r)}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "identity:", err)
		os.Exit(1)
	}
}

var sink uint64

// work is a span of some milliseconds of CPU.
func work(tracer trace.Tracer) {
	_, span := tracer.Start(context.Background(), "work")
	defer span.End()
	for i := 0; i < 5_000_000; i++ {
		sink = sink*6364136223846793005 + 1442695040888963407
	}
}

func main() {
	set := flag.String("set", "none", "none, code, merged, crowd or bare")
	global := flag.Bool("global", false, "set the provider for all")
	after := flag.Duration("after", 0, "when the provider is made")
	second := flag.Duration("second", 0, "when another one has spans, too; 0 never")
	flag.Parse()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	began := time.Now()
	for time.Since(began) < *after {
		sink++
	}
	provider := sdktrace.NewTracerProvider(append(options(*set),
		sdktrace.WithSyncer(&exporter{}))...)
	if *global {
		otel.SetTracerProvider(provider)
	}
	tracer := provider.Tracer("identity")
	for {
		select {
		case <-signals:
			return
		case <-time.After(time.Millisecond):
			work(tracer)
		}
		if *second != 0 && time.Since(began) > *second {
			tracer = sdktrace.NewTracerProvider(sdktrace.WithResource(
				resource.NewSchemaless(attribute.String("service.name", "second")))).Tracer("identity")
			*second = 0
		}
	}
}
