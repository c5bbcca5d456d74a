// SPDX-License-Identifier: Apache-2.0

// Truth compares the lines gobinary_print wrote about an executable with its DWARF, its symbol
// table and its bytes, or with those of an unstripped twin of the same text.
package main

import (
	"bufio"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// Offsets by name: structure, then fields from the outside in.
var offsets = map[string][]string{
	"runtime.g_m":            {"runtime.g", "m"},
	"runtime.g_goid":         {"runtime.g", "goid"},
	"runtime.g_stack_hi":     {"runtime.g", "stack", "hi"},
	"runtime.g_status":       {"runtime.g", "atomicstatus"},
	"runtime.g_labels":       {"runtime.g", "labels"},
	"runtime.g_sched_sp":     {"runtime.g", "sched", "sp"},
	"runtime.g_sched_pc":     {"runtime.g", "sched", "pc"},
	"runtime.g_sched_bp":     {"runtime.g", "sched", "bp"},
	"runtime.g_syscall_sp":   {"runtime.g", "syscallsp"},
	"runtime.g_syscall_pc":   {"runtime.g", "syscallpc"},
	"runtime.g_syscall_bp":   {"runtime.g", "syscallbp"},
	"runtime.g_wait_reason":  {"runtime.g", "waitreason"},
	"runtime.m_curg":         {"runtime.m", "curg"},
	"runtime.m_thread":       {"runtime.m", "procid"},
	"span.context":           {sdk + "recordingSpan", "spanContext"},
	"span.end_time":          {sdk + "recordingSpan", "endTime"},
	"span.name":              {sdk + "recordingSpan", "name"},
	"span.parent":            {sdk + "recordingSpan", "parent"},
	"span.start_time":        {sdk + "recordingSpan", "startTime"},
	"span.status":            {sdk + "recordingSpan", "status", "Code"},
	"span.kind":              {sdk + "recordingSpan", "spanKind"},
	"span.unsampled_context": {sdk + "nonRecordingSpan", "sc"},
	"span.context_trace_id":  {otel + "SpanContext", "traceID"},
	"span.context_span_id":   {otel + "SpanContext", "spanID"},
	"span.context_flags":     {otel + "SpanContext", "traceFlags"},
}

const (
	sdk  = "go.opentelemetry.io/otel/sdk/trace."
	otel = "go.opentelemetry.io/otel/trace."
)

// Probe sites: the function each lies in, and whom it calls; "" is the prologue's branch,
// "ret" the return.
var probes = map[string][2]string{
	"probe.runtime_trace":   {sdk + "(*recordingSpan).runtimeTrace", ""},
	"probe.new_recording":   {sdk + "(*tracer).newRecordingSpan", ""},
	"probe.with_value":      {sdk + "(*tracer).Start", "context.WithValue"},
	"probe.newproc_runqput": {"runtime.newproc.func1", "runtime.runqput"},
	"probe.start_ret":       {sdk + "(*tracer).Start", "ret"},
}

type checker struct {
	file           *elf.File
	raw            io.ReaderAt
	symbols        map[string]elf.Symbol
	structures     map[string]*dwarf.StructType
	said           map[string]string
	itabs          map[string][]string // of each kind, those said
	checked, wrong int
}

func (c *checker) expect(key, want string) {
	c.checked++
	if c.said[key] != want {
		c.wrong++
		fmt.Printf("%s: said %q, is %q\n", key, c.said[key], want)
	}
}

func structures(file *elf.File) (map[string]*dwarf.StructType, error) {
	data, err := file.DWARF()
	if err != nil {
		return nil, err
	}
	found := map[string]*dwarf.StructType{}
	for reader := data.Reader(); ; {
		entry, err := reader.Next()
		if entry == nil || err != nil {
			return found, err
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		if entry.Tag != dwarf.TagStructType || (name != "runtime.g" && name != "runtime.m" &&
			name != sdk+"recordingSpan" && name != sdk+"nonRecordingSpan" &&
			name != otel+"SpanContext" && !strings.HasPrefix(name, "context.")) {
			continue
		}
		t, err := data.Type(entry.Offset)
		if err != nil {
			return nil, err
		}
		found[name] = t.(*dwarf.StructType)
	}
}

func offsetOf(t dwarf.Type, path []string) (int64, error) {
	for {
		named, ok := t.(*dwarf.TypedefType)
		if !ok {
			break
		}
		t = named.Type
	}
	s, ok := t.(*dwarf.StructType)
	if !ok {
		return 0, fmt.Errorf("%v is no structure", t)
	}
	for _, f := range s.Field {
		if f.Name != path[0] {
			continue
		}
		if len(path) == 1 {
			return f.ByteOffset, nil
		}
		inner, err := offsetOf(f.Type, path[1:])
		return f.ByteOffset + inner, err
	}
	return 0, fmt.Errorf("%v has no %s", s.StructName, path[0])
}

// derived tells whether a type of package context begins with the context it was made from.
func (c *checker) derived(name string) bool {
	s := c.structures[name]
	if s == nil {
		// The linker drops the DWARF of types that no function's variables have.
		return name == "context.withoutCancelCtx"
	}
	if len(s.Field) == 0 {
		return false
	}
	first := s.Field[0].Type.String()
	return first == "context.Context" || c.derived(strings.TrimPrefix(first, "struct "))
}

func (c *checker) checkOffsets(withSpans bool) error {
	found, err := structures(c.file)
	if err != nil {
		return err
	}
	c.structures = found
	for key, path := range offsets {
		if found[path[0]] == nil {
			if !withSpans && strings.HasPrefix(key, "span.") {
				continue
			}
			return errors.New("no DWARF of " + path[0])
		}
		offset, err := offsetOf(found[path[0]], path[1:])
		if key == "runtime.g_syscall_bp" && err != nil {
			err = nil // from Go 1.23
		}
		if err != nil {
			return err
		}
		c.expect(key, fmt.Sprint(offset))
	}
	return nil
}

// isBranch tells whether the code is the conditional jump to morestack as the compiler writes it.
func (c *checker) isBranch(code []byte, distance uint64) bool {
	if c.file.Machine == elf.EM_AARCH64 {
		return binary.LittleEndian.Uint32(code)&0xff00001f == 0x54000009 &&
			(distance == 8 || distance == 12)
	}
	return (code[0] == 0x76 || code[0] == 0x0f && code[1] == 0x86) &&
		(distance == 4 || distance == 9 || distance == 12)
}

func (c *checker) isReturn(code []byte) bool {
	if c.file.Machine == elf.EM_AARCH64 {
		return binary.LittleEndian.Uint32(code) == 0xd65f03c0
	}
	return code[0] == 0xc3
}

// calls returns whom the direct call at an address calls, 0 for any other instruction.
func (c *checker) calls(code []byte, address uint64) uint64 {
	if c.file.Machine == elf.EM_AARCH64 {
		word := binary.LittleEndian.Uint32(code)
		if word&0xfc000000 != 0x94000000 {
			return 0
		}
		return address + uint64(int64(int32(word<<6)>>6)*4)
	}
	if code[0] != 0xe8 {
		return 0
	}
	return address + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(code[1:]))))
}

// checkProbe reads the bytes at the file offset that a uprobe would use.
func (c *checker) checkProbe(key string, line string) error {
	var address, offset uint64
	var kind string
	if _, err := fmt.Sscanf(line, "%v %v %s", &address, &offset, &kind); err != nil {
		return err
	}
	function, callee := c.symbols[probes[key][0]], probes[key][1]
	if address < function.Value || address >= function.Value+function.Size {
		return fmt.Errorf("%s: %#x is not in %s", key, address, function.Name)
	}
	code := make([]byte, 6)
	if _, err := c.raw.ReadAt(code, int64(offset)); err != nil {
		return err
	}
	c.checked++
	if callee == "" && kind == "branch" && c.isBranch(code, address-function.Value) {
		return nil
	}
	if callee == "ret" && kind == "plain" && c.isReturn(code) {
		return nil
	}
	target, named := c.symbols[callee]
	if named && kind == "plain" && c.calls(code, address) == target.Value {
		return nil
	}
	return fmt.Errorf("%s: unexpected instruction % x", key, code)
}

func (c *checker) checkRanges() {
	for _, name := range []string{"systemstack", "mcall", "morestack", "asmcgocall",
		"cgocallback", "sigtramp", "goexit"} {
		// Older symbol tables have no .abi0.
		symbol, ok := c.symbols["runtime."+name+".abi0"]
		if !ok {
			symbol, ok = c.symbols["runtime."+name]
		}
		said := strings.Split(c.said["range."+name], "-")[0]
		c.checked++
		if want := fmt.Sprintf("%#x", symbol.Value); (ok && said != want) || (!ok && said != "0") {
			c.wrong++
			fmt.Printf("range.%s: said %s, is %s\n", name, said, want)
		}
	}
}

// checkItabs compares with the symbols of the tables; from Go 1.27 they have none.
func (c *checker) checkItabs() {
	want := map[string][]string{}
	named := false
	for name, symbol := range c.symbols {
		// go.itab up to Go 1.19
		if !strings.HasPrefix(name, "go:itab.") && !strings.HasPrefix(name, "go.itab.") {
			continue
		}
		named = true
		t, i, _ := strings.Cut(name[len("go:itab."):], ",")
		address := fmt.Sprintf("%#x", symbol.Value)
		if t == "*"+sdk+"recordingSpan" {
			want["itab.span"] = append(want["itab.span"], address)
		}
		if i == "context.Context" && c.derived(strings.TrimPrefix(t, "*")) {
			want["itab.context"] = append(want["itab.context"], address)
		}
	}
	if !named {
		return
	}
	for _, key := range []string{"itab.span", "itab.context"} {
		said := c.itabs[key]
		sort.Strings(said)
		sort.Strings(want[key])
		c.checked += len(want[key])
		if strings.Join(said, " ") != strings.Join(want[key], " ") {
			c.wrong++
			fmt.Printf("%s: said %v, is %v\n", key, said, want[key])
		}
	}
}

func (c *checker) run(need []string) error {
	_, spans := c.symbols[probes["probe.runtime_trace"][0]]
	if err := c.checkOffsets(spans); err != nil {
		return err
	}
	c.checkRanges()
	c.checkItabs()
	if err := c.checkReasons(); err != nil {
		return err
	}
	c.expect("allgs", fmt.Sprintf("%#x", c.symbols["runtime.allgs"].Value))
	cgo := "0"
	if s, ok := c.symbols["runtime.iscgo"]; ok {
		value := make([]byte, 1)
		section := c.file.Sections[s.Section]
		if section.Type != elf.SHT_NOBITS {
			if _, err := section.ReadAt(value, int64(s.Value-section.Addr)); err != nil {
				return err
			}
		}
		cgo = fmt.Sprint(value[0])
	}
	c.expect("file.cgo", cgo)
	if t, ok := c.symbols["runtime.text"]; ok {
		c.expect("file.text", fmt.Sprintf("%#x-%#x", t.Value, c.symbols["runtime.etext"].Value))
	}
	for _, name := range need {
		if c.said["probe."+name] == "" {
			return errors.New("probe site missing: " + name)
		}
	}
	for key := range probes {
		if c.said[key] == "" {
			continue
		}
		if err := c.checkProbe(key, c.said[key]); err != nil {
			return err
		}
	}
	return nil
}

func open(path, twin string) (*checker, error) {
	raw, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	file, err := elf.Open(twin)
	if err != nil {
		return nil, err
	}
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	c := &checker{file: file, raw: raw, symbols: map[string]elf.Symbol{}, said: map[string]string{},
		itabs: map[string][]string{}}
	for _, s := range symbols {
		c.symbols[s.Name] = s
	}
	for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
		key, value, _ := strings.Cut(scanner.Text(), "=")
		c.said[key] = value
		if strings.HasPrefix(key, "itab.") {
			c.itabs[key] = append(c.itabs[key], value)
		}
	}
	return c, nil
}

func main() {
	twin := flag.String("twin", "", "unstripped executable with the same text")
	need := flag.String("need", "newproc_runqput", "probe sites that must be there")
	flag.Parse()
	if *twin == "" {
		*twin = flag.Arg(0)
	}
	c, err := open(flag.Arg(0), *twin)
	if err == nil {
		err = c.run(strings.Split(*need, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
	if c.wrong != 0 {
		os.Exit(1)
	}
	fmt.Printf("%d values equal\n", c.checked)
}
