// SPDX-License-Identifier: Apache-2.0

// Command liveness prints which stack words the Go runtime's own garbage collector would follow:
// the truth that tests/e2e/liveness.sh holds spanprof's reader of pointer maps against.
//
// Lines, fields separated by tabs, addresses in hex, numbers in decimal:
//
//	B  address of main.main                          → the load bias
//	M  place map bytes arguments known live…         a frame that would call at that place: index of
//	                                                 the map, bytes from SP to the canonical address
//	                                                 and of arguments, 1 variables + 2 arguments
//	                                                 have maps, live words below that address
//	G                                                the stack of a parked goroutine begins
//	R  place sp bytes arguments known live…          one of its frames, innermost first
//	W  word…                                         and its memory, from SP to the arguments' end
//	V  kind value name                               a variable of that stack: live, dead, the first
//	                                                 word of an interface (itab), or one that only
//	                                                 a pointer knows of (pointed); dead in the maps
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
	"runtime/debug"
	"unsafe"
)

// Besides calls, every 61st byte of the text: coprime to the alignment of functions.
const step = 61

// reflect's calls with arguments of up to a gigabyte take as much.
const maxFrameBytes = 1 << 16

const (
	knowsVariables = 1
	knowsArguments = 2
)

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

func printLive(w *bufio.Writer, live []int) {
	for _, below := range live {
		fmt.Fprintf(w, "\t%d", below)
	}
	w.WriteByte('\n')
}

// printPlace tells of a frame as it would be at a call of which `place` is the last byte.
func printPlace(w *bufio.Writer, place uintptr) {
	f := findfunc(place)
	if f.function == nil {
		return
	}
	delta := spDelta(f, place)
	if delta < 0 {
		return // syscall.rawVforkSyscall has taken its return address away
	}
	frame := stkframe{fn: f, pc: place + 1, continpc: place + 1}
	frame.place(uintptr(delta))
	if f.args() == argsUnknown && reflectStub(place) {
		return // its map is read from the frame
	}
	if frame.fp-frame.sp > maxFrameBytes {
		return
	}
	known, live := frame.liveWords()
	fmt.Fprintf(w, "M\t%x\t%d\t%d\t%d\t%d", place, mapIndex(f, place), frame.fp-frame.sp, f.args(), known)
	printLive(w, live)
}

func printText(w *bufio.Writer) {
	low, high := textBounds()
	text := unsafe.Slice((*byte)(at(low)), high-low)
	for i := callBytes; i < len(text); i++ {
		if isCall(text[:i], low, high) {
			printPlace(w, low+uintptr(i)-1)
		}
		if i%step == 0 && !isPadding(text[i:]) {
			printPlace(w, low+uintptr(i))
		}
	}
}

func main() {
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	// Frames that are looked at are not to be moved, nor their contents.
	debug.SetGCPercent(-1)
	// A goroutine that hands on its word runs until it is parked.
	runtime.GOMAXPROCS(1)
	// Here for their code: generics, closures, big functions, method wrappers.
	json.NewEncoder(io.Discard).Encode(map[string]any{"a": regexp.MustCompile("a|b").String()})
	fmt.Fprintf(w, "B\t%x\n", mainEntry())
	printText(w)
	printStacks(w)
}
