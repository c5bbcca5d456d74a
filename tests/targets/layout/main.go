// SPDX-License-Identifier: Apache-2.0

// Layout is a service that prints, by reflection, where the SDK's spans keep their fields, and the
// interface tables of its own values; and checks the places of g and of all goroutines that it is
// given.
package main

import (
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
}

// field prints where a field lies, given by its names from the outside in; and returns its type.
func field(t reflect.Type, key string, names ...string) reflect.Type {
	var offset uintptr
	for _, name := range names {
		f, ok := t.FieldByName(name)
		if !ok {
			fail(fmt.Errorf("%v has no field %s", t, name))
		}
		offset += f.Offset
		t = f.Type
	}
	fmt.Printf("%s=%d\n", key, offset)
	return t
}

// words are those of an interface: of an empty one the type comes first, of others the table.
type words struct {
	first uintptr
	data  unsafe.Pointer
}

func emptyWords(value interface{}) words { // "any" is newer than Go 1.17
	return *(*words)(unsafe.Pointer(&value))
}

func contextWords(ctx context.Context) words {
	return *(*words)(unsafe.Pointer(&ctx))
}

// loadBias is what a position-independent executable's addresses are moved by.
func loadBias() (uintptr, error) {
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if file.Type != elf.ET_DYN {
		return 0, nil
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	path, err := os.Executable()
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(maps), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 6 && fields[5] == path && fields[2] == "00000000" {
			start, err := strconv.ParseUint(strings.Split(fields[0], "-")[0], 16, 64)
			for _, p := range file.Progs {
				if p.Type == elf.PT_LOAD && p.Off == 0 {
					start -= p.Vaddr
				}
			}
			return uintptr(start), err
		}
	}
	return 0, errors.New("not in its own maps")
}

func printSpans(bias uintptr) {
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.AlwaysSample()))
	never := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
	_, span := provider.Tracer("layout").Start(context.Background(), "span")
	_, unsampled := never.Tracer("layout").Start(context.Background(), "span")
	recording := reflect.TypeOf(span).Elem()
	field(recording, "span.context", "spanContext")
	field(recording, "span.parent", "parent")
	field(recording, "span.name", "name")
	field(recording, "span.start_time", "startTime")
	field(recording, "span.end_time", "endTime")
	field(recording, "span.status", "status", "Code")
	field(recording, "span.kind", "spanKind")
	spanContext := reflect.TypeOf(trace.SpanContext{})
	field(spanContext, "span.context_trace_id", "traceID")
	field(spanContext, "span.context_span_id", "spanID")
	field(spanContext, "span.context_flags", "traceFlags")
	field(reflect.TypeOf(unsampled), "span.unsampled_context", "sc")
	fmt.Printf("span.type=%#x\n", emptyWords(span).first-bias)
	fmt.Printf("span.unsampled_type=%#x\n", emptyWords(unsampled).first-bias)
	fmt.Printf("itab.span=%#x\n", (*words)(unsafe.Pointer(&span)).first-bias)
	span.End()
}

// printResource prints the way from a span to the attributes of its resource.
func printResource(bias uintptr) {
	provider := sdk.NewTracerProvider()
	_, span := provider.Tracer("layout").Start(context.Background(), "span")
	t := reflect.TypeOf(span).Elem()
	for _, name := range []string{"tracer", "provider", "resource"} {
		t = field(t, "resource."+name, name).Elem()
	}
	set := []string{"attrs", "data"}
	if _, ok := reflect.TypeOf(attribute.Set{}).FieldByName("data"); !ok { // before SDK 1.39
		set = []string{"attrs", "equivalent", "iface"}
	}
	field(t, "resource.set", set...)
	pair := attribute.String("key", "value")
	t = reflect.TypeOf(pair)
	field(t, "resource.key", "Key")
	field(t, "resource.value_type", "Value", "vtype")
	field(t, "resource.value_text", "Value", "stringly")
	fmt.Printf("resource.pair_size=%d\n", t.Size())
	fmt.Printf("resource.provider_type=%#x\n", emptyWords(provider).first-bias)
	fmt.Printf("resource.pair_type=%#x\n", emptyWords(pair).first-bias)
	span.End()
}

// printContexts prints the tables of contexts that begin with what they were made from.
func printContexts(bias uintptr) {
	for _, c := range contexts() {
		made := contextWords(c.made)
		if *(*words)(made.data) != contextWords(c.from) {
			continue
		}
		fmt.Printf("itab.context=%#x\n", made.first-bias)
	}
}

func main() {
	tls := flag.Int("tls", 0, "check this offset of g from the thread pointer")
	all := flag.String("allgs", "", "check this address of the slice of all goroutines")
	flag.Parse()
	bias, err := loadBias()
	fail(err)
	if *tls != 0 {
		fail(checkTLS(*tls))
	}
	if *all != "" {
		address, err := strconv.ParseUint(*all, 0, 64)
		fail(err)
		fail(checkAll(uintptr(address) + bias))
	}
	if *tls == 0 && *all == "" {
		printSpans(bias)
		printResource(bias)
		printContexts(bias)
	}
}
