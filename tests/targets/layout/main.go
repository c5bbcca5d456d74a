// SPDX-License-Identifier: Apache-2.0

// Layout is a service that prints, by reflection, where the SDK's span keeps its fields, and
// checks the thread-local offset of g that it is given.
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

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// field prints where a field lies, given by its names from the outside in.
func field(t reflect.Type, key string, names ...string) {
	var offset uintptr
	for _, name := range names {
		f, ok := t.FieldByName(name)
		if !ok {
			fmt.Fprintf(os.Stderr, "layout: %v has no field %s\n", t, name)
			os.Exit(1)
		}
		offset += f.Offset
		t = f.Type
	}
	fmt.Printf("span.%s=%d\n", key, offset)
}

// typeWord is the address of the type that an empty interface holds: its first word.
func typeWord(value interface{}) uintptr { // "any" is newer than Go 1.17
	return (*[2]uintptr)(unsafe.Pointer(&value))[0]
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

func main() {
	tls := flag.Int("tls", 0, "check this offset of g from the thread pointer")
	flag.Parse()
	if *tls != 0 {
		if err := checkTLS(*tls); err != nil {
			fmt.Fprintln(os.Stderr, "layout:", err)
			os.Exit(1)
		}
		fmt.Println("tls=right")
		return
	}
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.AlwaysSample()))
	_, span := provider.Tracer("layout").Start(context.Background(), "span")
	recording := reflect.TypeOf(span).Elem()
	field(recording, "context", "spanContext")
	field(recording, "parent", "parent")
	field(recording, "name", "name")
	field(recording, "start_time", "startTime")
	field(recording, "end_time", "endTime")
	field(recording, "status", "status", "Code")
	field(recording, "kind", "spanKind")
	spanContext := reflect.TypeOf(trace.SpanContext{})
	field(spanContext, "context_trace_id", "traceID")
	field(spanContext, "context_span_id", "spanID")
	field(spanContext, "context_flags", "traceFlags")
	never := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
	_, unsampled := never.Tracer("layout").Start(context.Background(), "span")
	field(reflect.TypeOf(unsampled), "unsampled_context", "sc")
	bias, err := loadBias()
	if err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
	fmt.Printf("span.type=%#x\n", typeWord(span)-bias)
	fmt.Printf("span.unsampled_type=%#x\n", typeWord(unsampled)-bias)
	span.End()
}
