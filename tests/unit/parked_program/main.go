// SPDX-License-Identifier: Apache-2.0

// parked_program stands still in known places and tells which they are: goroutines that hold
// objects they still need, beside some they do not need any more. With an argument two goroutines
// spin instead, on one thread: one of them is always interrupted. Ends with its standard input.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

const crowd, gone = 600, 40

type token struct{ tag, others [3]uint64 }

var (
	ever     chan struct{}
	printing sync.Mutex
	sum      uint64
)

//go:noinline
func use(t *token) {
	sum += t.tag[0]
}

//go:noinline
func newToken() *token {
	return new(token)
}

// number hides an address from the garbage collector.
//
//go:noinline
func number(t *token) uintptr {
	return uintptr(unsafe.Pointer(t))
}

func goid() string {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	return strings.Fields(string(text))[1]
}

func tell(words ...string) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(strings.Join(words, " "))
}

func hex(addresses ...uintptr) string {
	text := ""
	for _, address := range addresses {
		text += " " + strconv.FormatUint(uint64(address), 16)
	}
	return text[1:]
}

// keeps needs its token when it goes on.
//
//go:noinline
func keeps(name string, outer uintptr) {
	t := newToken()
	use(t)
	tell(name, goid(), hex(number(t), outer))
	<-ever
	use(t)
}

// drops has its token in a slot of its frame, as two calls needed it, and needs it no more.
//
//go:noinline
func drops(name string, outer uintptr) {
	t := newToken()
	use(t)
	tell(name, goid(), hex(number(t), outer))
	use(t)
	<-ever
}

type lent struct {
	others [2]uint64
	t      *token
}

//go:noinline
func lend(to *lent, t *token) {
	to.t = t
}

// lends had its token in a variable that a pointer led to, and needs it no more.
//
//go:noinline
func lends(name string, outer uintptr) {
	t := newToken()
	var l lent
	lend(&l, t)
	use(l.t)
	tell(name, goid(), hex(number(t), outer))
	use(l.t)
	<-ever
}

// counts has the address, which is but a number.
//
//go:noinline
func counts(name string, outer uintptr) {
	n := number(newToken())
	tell(name, goid(), hex(n, outer))
	<-ever
	tell(name, hex(n))
}

// takes is given its token on the stack, as an array is.
//
//go:noinline
func takes(name string, outer uintptr, t [2]*token) {
	tell(name, goid(), hex(number(t[1]), outer))
	<-ever
	use(t[1])
}

//go:noinline
func gives(name string, outer uintptr) {
	takes(name, outer, [2]*token{nil, newToken()})
}

// spins is interrupted somewhere in its loop, in which there is no call.
//
//go:noinline
func spins(name string, outer uintptr) {
	t := newToken()
	tell(name, goid(), hex(number(t), outer))
	for i := 0; ; i++ {
		t.tag[i%3]++
	}
}

// around needs its token behind the call.
//
//go:noinline
func around(name string, inner func(string, uintptr)) {
	t := newToken()
	inner(name, number(t))
	use(t)
}

func park() {
	ever = make(chan struct{})
	inner := map[string]func(string, uintptr){
		"keeps": keeps, "drops": drops, "lends": lends, "counts": counts, "gives": gives,
	}
	for name, f := range inner {
		go around(name, f)
	}
	for range crowd {
		go func() {
			tell("crowd", goid())
			<-ever
		}()
	}
	var all sync.WaitGroup
	all.Add(gone)
	for range gone {
		go func() {
			tell("gone", goid())
			all.Done()
		}()
	}
	all.Wait()
}

func main() {
	if len(os.Args) > 1 {
		runtime.GOMAXPROCS(1)
		go around("spins", spins)
		go around("spins", spins)
	} else {
		park()
	}
	told := make(chan struct{})
	go func(main string) { // main's one system call is the read below
		tell("main", main)
		close(told)
	}(goid())
	<-told
	var input [1]byte
	for {
		if n, err := syscall.Read(0, input[:]); n == 0 || err != nil && err != syscall.EINTR {
			os.Exit(0)
		}
	}
}
