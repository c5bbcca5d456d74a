// SPDX-License-Identifier: Apache-2.0

// Command symtruth prints what the Go runtime itself says about its program counters and stacks:
// the truth that tests/e2e/symbols.sh holds spanprof's pclntab reader against.
//
// Lines, fields separated by tabs, addresses in hex:
//
//	B  address of main.main                          → the load bias
//	N  full|short                                    whether names keep their type arguments
//	F  pc  (name file line startLine)…               frames of a pc, innermost first
//	S  sp  pc  (name file line)…                     a stack, as runtime.Callers has it
//	W  word…                                         the stack's memory from that sp on
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	_ "unsafe"
)

// Every 13th byte of the text: coprime to the alignment of functions and instructions.
const step = 13

//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stack []uintptr) []uintptr

func mainEntry() uintptr {
	return reflect.ValueOf(main).Pointer()
}

// textBounds widens from main.main as long as the runtime knows a function there.
func textBounds() (low, high uintptr) {
	const page = 4096
	for low = mainEntry(); runtime.FuncForPC(low-page) != nil; {
		low -= page
	}
	for high = mainEntry(); runtime.FuncForPC(high+page) != nil; {
		high += page
	}
	return low, high
}

func printFrames(w *bufio.Writer, stack []uintptr, withStart bool) {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		w.WriteByte('\t')
		w.WriteString(symbolName(&frame))
		w.WriteByte('\t')
		w.WriteString(frame.File)
		w.WriteByte('\t')
		w.WriteString(strconv.Itoa(frame.Line))
		if withStart {
			w.WriteByte('\t')
			w.WriteString(strconv.Itoa(startLine(&frame)))
		}
		if !more {
			break
		}
	}
	w.WriteByte('\n')
}

func printText(w *bufio.Writer) {
	low, high := textBounds()
	one := make([]uintptr, 1)
	for pc := low; pc < high; pc += step {
		// CallersFrames takes return addresses and looks the function up by them.
		if next := runtime.FuncForPC(pc + 1); next == nil || next.Entry() == pc+1 {
			continue
		}
		one[0] = pc + 1
		fmt.Fprintf(w, "F\t%x", pc)
		printFrames(w, expand(one), true)
	}
}

func main() {
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	// Here for their code: generics, closures, big functions, method wrappers.
	json.NewEncoder(io.Discard).Encode(map[string]any{"a": regexp.MustCompile("a|b").String()})
	fmt.Fprintf(w, "B\t%x\nN\t%s\n", mainEntry(), nameKind)
	printText(w)
	printStacks(w)
}
