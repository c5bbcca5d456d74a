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

func field(t reflect.Type, key, name string) {
	f, ok := t.FieldByName(name)
	if !ok {
		fmt.Fprintf(os.Stderr, "layout: %v has no field %s\n", t, name)
		os.Exit(1)
	}
	fmt.Printf("span.%s=%d\n", key, f.Offset)
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
	field(recording, "end_time", "endTime")
	field(recording, "name", "name")
	context := reflect.TypeOf(trace.SpanContext{})
	field(context, "context_trace_id", "traceID")
	field(context, "context_span_id", "spanID")
	field(context, "context_flags", "traceFlags")
	bias, err := loadBias()
	if err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
	// The first word of an empty interface is its type.
	empty := interface{}(span) // "any" is newer than Go 1.17
	fmt.Printf("span.type=%#x\n", (*[2]uintptr)(unsafe.Pointer(&empty))[0]-bias)
	span.End()
}
