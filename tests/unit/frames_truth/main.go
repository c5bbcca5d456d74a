// SPDX-License-Identifier: Apache-2.0

// Prints its own stacks as Go's runtime names them, one line per logical frame, then waits for the
// end of its input: the truth for test_symbolize.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"sort"
)

var out = bufio.NewWriter(os.Stdout)

// One line per frame: return address, function, file, line. An empty line ends a stack.
//
//go:noinline
func report() {
	var pcs [64]uintptr
	count := runtime.Callers(1, pcs[:])
	for _, pc := range pcs[:count] {
		frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		fmt.Fprintf(out, "%x\t%s\t%s\t%d\n", pc, frame.Function, frame.File, frame.Line)
	}
	fmt.Fprintln(out)
}

func small(n int) int { // inlined
	report()
	return n
}

func smaller(n int) int { // inlined with small in it
	return small(n) + 1
}

type value struct{ n [4]int }

// Called through an interface that holds a pointer: by way of a wrapper.
//
//go:noinline
func (v value) Work() int { return smaller(v.n[0]) }

type light struct{ n int }

// Small enough to be inlined into its own wrapper.
func (l light) Work() int { report(); return l.n }

type outer struct{ *light }

type worker interface{ Work() int }

//go:noinline
func call(w worker) int { return w.Work() }

//go:noinline
func generic[T any](n int, t T) int {
	if n == 0 {
		return smaller(0)
	}
	return generic(n-1, t)
}

type byReport []int

func (b byReport) Len() int      { return len(b) }
func (b byReport) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b byReport) Less(i, j int) bool {
	report()
	return b[i] < b[j]
}

func panics() {
	defer func() {
		recover()
		report()
	}()
	var p *outer
	p.n++ // runtime.sigpanic lies between
}

func main() {
	smaller(1)
	call(&value{})
	call(&light{})
	call(outer{&light{}})
	call(&outer{&light{}})
	f := (&value{}).Work // a method value has a wrapper too
	f()
	generic(3, "text")
	generic(2, struct{}{})
	sort.Sort(byReport{2, 1})
	func() { defer report() }()
	func() {
		for i := 0; i < 1; i++ {
			func() { small(2) }()
		}
	}()
	done := make(chan bool)
	go func() { defer close(done); smaller(3) }()
	<-done
	panics()
	out.Flush()
	os.Stdout.Close()
	io.Copy(io.Discard, os.Stdin)
}
