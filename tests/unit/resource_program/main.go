// SPDX-License-Identifier: Apache-2.0

// The program prints where its spans lie, a line each, and waits for the end of its input. With an
// argument it does not set a provider for all.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/internal/global"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

func usual() attribute.Set {
	return attribute.NewSet(attribute.String("service.name", "shop"),
		attribute.String("service.version", "1.2.3"), attribute.String("team", "checkout"))
}

// all that is taken, among others of the same lengths and more.
func all() attribute.Set {
	return attribute.NewSet(attribute.String("deployment.environment", "prod"),
		attribute.String("deployment.environment.name", "production"),
		attribute.String("host.name", "elsewhere"), attribute.String("process.pid.", "1"),
		attribute.String("service.instance.id", "pod-7"),
		attribute.String("service.instance.it", "not taken"),
		attribute.String("service.name", "shop"), attribute.String("service.namE", "not taken"),
		attribute.String("service.namespace", "retail"),
		attribute.String("service.version", "1.2.3"), attribute.String("", "nothing"),
		attribute.String("telemetry.sdk.language", "go"), attribute.String("zone", "a"))
}

func odd() attribute.Set {
	return attribute.NewSet(attribute.String("deployment.environment", strings.Repeat("e", 300)),
		attribute.String("service.instance.id", strings.Repeat("i", 4096)),
		attribute.String("service.name", "a\x1b[2J\xffb"), attribute.String("service.namespace", ""),
		attribute.Int("service.version", 7))
}

// crowd has the name behind so many others.
func crowd(others int) attribute.Set {
	pairs := []attribute.KeyValue{}
	for i := range others {
		pairs = append(pairs, attribute.String(fmt.Sprintf("%012d", i), "other"))
	}
	return attribute.NewSet(append(pairs, attribute.String("service.name", "last"))...)
}

func main() {
	keep := []trace.Span{}
	tell := func(name string, span trace.Span) {
		fmt.Printf("%s 0 %x\n", name, span.Address())
		keep = append(keep, span)
	}
	start := func(name string, set attribute.Set) {
		tell(name, trace.NewTracerProvider(resource.New(set)).Start(name))
	}
	provider := trace.NewTracerProvider(resource.New(usual()))
	if len(os.Args) == 1 {
		global.SetTracerProvider(provider)
	}
	tell("usual", provider.Start("a"))
	tell("again", provider.Start("b"))
	start("all", all())
	start("odd", odd())
	start("crowd", crowd(4094))
	start("empty", attribute.NewSet())
	start("too-many", crowd(4095))
	start("no-set", attribute.Of(nil))
	start("slice", attribute.Of([]attribute.KeyValue{attribute.String("service.name", "slice")}))
	start("strings", attribute.Of([3]string{"service.name", "shop", ""}))
	tell("no-resource", trace.NewTracerProvider(nil).Start("span"))
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(keep)
}
