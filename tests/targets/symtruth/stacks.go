// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"sync"
)

const maxWords = 8192

// A stack of this goroutine, kept where stack growth does not move it.
type shot struct {
	sp, pc, count uintptr
	callers       []uintptr
	words         [maxWords]uintptr
}

// snapshot copies the stack from its caller's SP up to its end. In assembly.
func snapshot(words *[maxWords]uintptr, max uintptr) (sp, pc, count uintptr)

//go:noinline
func capture(s *shot) {
	s.callers = make([]uintptr, 1024)
	s.callers = s.callers[:runtime.Callers(1, s.callers)]
	s.sp, s.pc, s.count = snapshot(&s.words, maxWords)
}

type walker interface{ walk(s *shot, depth int) }

type small struct{ next walker }

type large struct {
	small // walk by promotion: the compiler makes a wrapper
	pad   [64]int
}

func (w small) walk(s *shot, depth int) {
	var room [17]int
	for i := range room {
		room[i] = depth * i
	}
	if depth == 0 {
		inlined(s)
	} else {
		w.next.walk(s, depth-1)
	}
	runtime.KeepAlive(&room)
}

func inlined(s *shot) { inlinedAgain(s) }

func inlinedAgain(s *shot) { capture(s) }

//go:noinline
func recurse(s *shot, depth int) {
	if depth == 0 {
		capture(s)
		return
	}
	recurse(s, depth-1)
}

//go:noinline
func generic[T any](s *shot, value T, depth int) T {
	if depth == 0 {
		capture(s)
	} else {
		value = generic(s, value, depth-1)
	}
	return value
}

type sorter struct {
	s    *shot
	done bool
}

func (x *sorter) Len() int      { return 2 }
func (x *sorter) Swap(i, j int) {}
func (x *sorter) Less(i, j int) bool {
	if !x.done {
		x.done = true
		capture(x.s)
	}
	return i < j
}

func cases() []func(s *shot) {
	return []func(s *shot){
		capture,
		inlined,
		func(s *shot) { recurse(s, 300) },
		func(s *shot) { small{small{small{}}}.walk(s, 2) },
		func(s *shot) { w := walker(&large{small: small{&large{}}}); w.walk(s, 1) },
		func(s *shot) { generic(s, "text", 3); generic(s, 1.5, 4) },
		func(s *shot) { defer capture(s); strings.Repeat("x", 3) },
		func(s *shot) { sort.Sort(&sorter{s: s}) },
		func(s *shot) { reflect.ValueOf(recurse).Call([]reflect.Value{reflect.ValueOf(s), reflect.ValueOf(2)}) },
		func(s *shot) { strings.Map(func(r rune) rune { capture(s); return r }, "a") },
		func(s *shot) { new(sync.Once).Do(func() { recurse(s, 1) }) },
		func(s *shot) {
			defer func() { recover(); capture(s) }()
			panic("on purpose")
		},
		func(s *shot) {
			defer func() { recover() }()
			defer func() { capture(s) }()
			var p *int
			*p = 1 // sigpanic's frame is on the stack
		},
	}
}

func printStacks(w *bufio.Writer) {
	for _, run := range cases() {
		s := new(shot)
		var done sync.WaitGroup
		done.Add(1)
		go func() { defer done.Done(); run(s) }()
		done.Wait()
		if s.count == 0 {
			continue // no snapshot on this machine
		}
		fmt.Fprintf(w, "S\t%x\t%x", s.sp, s.pc)
		printFrames(w, s.callers, false)
		w.WriteString("W")
		for _, word := range s.words[:s.count] {
			fmt.Fprintf(w, "\t%x", word)
		}
		w.WriteByte('\n')
	}
}
