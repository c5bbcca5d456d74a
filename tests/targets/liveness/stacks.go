// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"sync"
	"unsafe"
)

func getg() unsafe.Pointer // in assembly

func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// variable is one that a case knows the fate of while its goroutine is parked.
type variable struct {
	kind  string
	value uintptr
	name  string
}

// scene is a goroutine that parks once, deep in a stack of known variables.
type scene struct {
	g     unsafe.Pointer
	known []variable
	ready chan struct{}
	gate  chan struct{}
}

type thing struct{ numbers [4]int }

func (t *thing) String() string { return fmt.Sprint(t.numbers) }

var (
	sink int
	kept []unsafe.Pointer
)

//go:noinline
func use(t *thing) { sink += t.numbers[0] }

//go:noinline
func useAny(s fmt.Stringer) { sink += len(s.String()) }

// plant makes an object and says what will be of the variable that holds it when s parks.
//
//go:noinline
func (s *scene) plant(kind, name string) *thing {
	t := new(thing)
	s.tell(kind, name, unsafe.Pointer(t))
	return t
}

//go:noinline
func (s *scene) tell(kind, name string, p unsafe.Pointer) {
	kept = append(kept, p) // so it is not on a stack, where it would move
	s.known = append(s.known, variable{kind, uintptr(p), name})
}

// tellInterface has the two words of an interface.
func (s *scene) tellInterface(kind, name string, words unsafe.Pointer) {
	pair := (*[2]unsafe.Pointer)(words)
	s.tell("itab", name+"'s first word", pair[0])
	s.tell(kind, name, pair[1])
}

//go:noinline
func (s *scene) park() {
	s.g = getg()
	s.ready <- struct{}{}
	<-s.gate
}

//go:noinline
func usedAfter(s *scene) {
	t := s.plant("live", "used after the call")
	s.park()
	use(t)
}

//go:noinline
func usedBefore(s *scene) {
	t := s.plant("dead", "used before the call only")
	use(t)
	use(t)
	s.park()
}

//go:noinline
func parameterUsed(s *scene, t *thing) {
	s.park()
	use(t)
}

//go:noinline
func parameterDone(s *scene, t *thing) {
	use(t)
	use(t)
	s.park()
}

//go:noinline
func stackParameters(a, b, c, d, e, f, g, h, i int, s *scene, used, done *thing) int {
	use(done)
	s.park()
	use(used)
	return a + b + c + d + e + f + g + h + i
}

//go:noinline
func interfaceUsed(s *scene, value fmt.Stringer) {
	s.park()
	useAny(value)
}

//go:noinline
func interfaceDone(s *scene, value fmt.Stringer) {
	useAny(value)
	useAny(value)
	s.park()
}

//go:noinline
func loop(s *scene, things []*thing) {
	for i, t := range things {
		use(t)
		if i == 2 {
			s.tell("live", "loop variable", unsafe.Pointer(t))
			s.park()
		}
		use(t)
	}
}

//go:noinline
func fill(place **thing, t *thing) { *place = t }

//go:noinline
func addressTaken(s *scene) {
	var place *thing
	fill(&place, s.plant("live", "variable whose address was taken"))
	s.park()
	use(place)
}

//go:noinline
func pointedTo(s *scene) {
	var place *thing
	fill(&place, s.plant("pointed", "variable that only its pointer is used of"))
	useBehind(s, &place)
}

//go:noinline
func useBehind(s *scene, place **thing) {
	s.park()
	use(*place)
}

//go:noinline
func outer(s *scene, depth int) {
	above := s.plant("live", fmt.Sprint("in a caller, still ", depth, " calls above"))
	past := s.plant("dead", fmt.Sprint("in a caller, past, ", depth, " calls above"))
	use(past)
	use(past)
	if depth == 0 {
		s.park()
	} else {
		outer(s, depth-1)
	}
	use(above)
}

type key struct{}

//go:noinline
func handle(s *scene, ctx context.Context) {
	inner := context.WithValue(ctx, key{}, s)
	s.tellInterface("live", "context of the work", unsafe.Pointer(&[]context.Context{inner}[0]))
	work(s, inner)
	if inner.Value(key{}) != s {
		panic("another context")
	}
}

//go:noinline
func work(s *scene, ctx context.Context) {
	past := context.WithValue(ctx, key{}, s)
	s.tellInterface("dead", "context of the past", unsafe.Pointer(&[]context.Context{past}[0]))
	for i := 0; i < 2; i++ {
		if past.Value(key{}) != s {
			panic("another context")
		}
	}
	past = nil
	s.park()
}

type marshaler struct{ s *scene }

func (m marshaler) MarshalJSON() ([]byte, error) {
	m.s.park()
	return []byte("1"), nil
}

type sorter struct {
	s    *scene
	done bool
}

func (x *sorter) Len() int      { return 2 }
func (x *sorter) Swap(i, j int) {}
func (x *sorter) Less(i, j int) bool {
	if !x.done {
		x.done = true
		x.s.park()
	}
	return i < j
}

func scenes() []func(s *scene) {
	return []func(s *scene){
		usedAfter,
		usedBefore,
		func(s *scene) { parameterUsed(s, s.plant("live", "parameter used after the call")) },
		func(s *scene) { parameterDone(s, s.plant("dead", "parameter of the past")) },
		func(s *scene) {
			used, done := s.plant("live", "parameter on the stack"), new(thing)
			stackParameters(1, 2, 3, 4, 5, 6, 7, 8, 9, s, used, done)
		},
		func(s *scene) {
			value := fmt.Stringer(new(thing))
			s.tellInterface("live", "interface", unsafe.Pointer(&[]fmt.Stringer{value}[0]))
			interfaceUsed(s, value)
		},
		func(s *scene) {
			value := fmt.Stringer(new(thing))
			s.tellInterface("dead", "interface of the past", unsafe.Pointer(&[]fmt.Stringer{value}[0]))
			interfaceDone(s, value)
		},
		func(s *scene) { loop(s, []*thing{new(thing), new(thing), new(thing), new(thing)}) },
		addressTaken,
		pointedTo,
		func(s *scene) { outer(s, 5) },
		func(s *scene) { handle(s, context.Background()) },
		func(s *scene) { json.Marshal(map[string]any{"a": []any{marshaler{s}}}) },
		func(s *scene) { sort.Sort(&sorter{s: s}) },
		func(s *scene) { strings.Map(func(r rune) rune { s.park(); return r }, "a") },
		func(s *scene) { new(sync.Once).Do(s.park) },
		func(s *scene) {
			reflect.ValueOf(interfaceUsed).Call([]reflect.Value{reflect.ValueOf(s), reflect.ValueOf(new(thing))})
		},
		func(s *scene) {
			// A stub whose map of arguments is made when the program runs.
			kind := reflect.TypeOf(func(*thing, int) *thing { return nil })
			f := reflect.MakeFunc(kind, func(in []reflect.Value) []reflect.Value { s.park(); return in[:1] })
			use(f.Interface().(func(*thing, int) *thing)(new(thing), 1))
		},
		func(s *scene) {
			defer func() { recover(); s.park() }()
			panic("on purpose")
		},
		func(s *scene) {
			defer func() { recover() }()
			defer func() { s.park() }()
			var p *int
			*p = 1 // sigpanic's frame is on the stack
		},
	}
}

func printFrame(w *bufio.Writer, f *stkframe) {
	if f.continpc == 0 {
		return // it will not go on
	}
	known, live := f.liveWords()
	end := f.argp
	if args := f.fn.args(); args > 0 {
		end += uintptr(args)
	}
	fmt.Fprintf(w, "R\t%x\t%x\t%d\t%d\t%d", f.continpc-1, f.sp, f.fp-f.sp, f.fn.args(), known)
	printLive(w, live)
	w.WriteString("W")
	for address := f.sp; address < end; address += 8 {
		fmt.Fprintf(w, "\t%x", *(*uintptr)(at(address)))
	}
	w.WriteByte('\n')
}

func printStacks(w *bufio.Writer) {
	for _, run := range scenes() {
		s := &scene{ready: make(chan struct{}), gate: make(chan struct{})}
		run, done := run, make(chan struct{})
		go func() { run(s); close(done) }()
		<-s.ready
		frames := unwind(s.g)
		for runtime.FuncForPC(frames[0].pc).Name() != "runtime.gopark" {
			runtime.Gosched() // not parked yet
			frames = unwind(s.g)
		}
		w.WriteString("G\n")
		for i := range frames {
			printFrame(w, &frames[i])
		}
		for _, v := range s.known {
			fmt.Fprintf(w, "V\t%s\t%x\t%s\n", v.kind, v.value, v.name)
		}
		close(s.gate)
		<-done
	}
}
