// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime"
	"strings"
	"unsafe"
)

const (
	argsUnknown = math.MinInt32
	argsOffset  = 8 // of runtime._func, from 1.18 on
)

// As in the runtime, of which it has the layout: runtime/stkframe.go, runtime/symtab.go.
type (
	funcInfo struct {
		function unsafe.Pointer
		module   unsafe.Pointer
	}
	stkframe struct {
		fn                                   funcInfo
		pc, continpc, lr, sp, fp, varp, argp uintptr
		arglen                               uintptr // these two up to 1.19
		argmap                               unsafe.Pointer
	}
	bitvector struct {
		n     int32
		bytes *byte
	}
)

//go:linkname findfunc runtime.findfunc
func findfunc(pc uintptr) funcInfo

//go:linkname funcdata runtime.funcdata
func funcdata(f funcInfo, i uint8) unsafe.Pointer

func (f funcInfo) args() int32 {
	return *(*int32)(unsafe.Add(f.function, argsOffset))
}

func reflectStub(pc uintptr) bool {
	name := runtime.FuncForPC(pc).Name()
	return strings.HasPrefix(name, "reflect.makeFuncStub") || strings.HasPrefix(name, "reflect.methodValueCall")
}

// place puts the frame somewhere, as (*unwinder).resolveInternal does with one on a stack.
func (f *stkframe) place(delta uintptr) {
	f.sp = 1 << 20
	f.fp = f.sp + delta + pushedBytes
	f.varp = f.fp - pushedBytes
	if f.varp > f.sp {
		f.varp -= 8
	}
	f.argp = f.fp + minFrameBytes
	if args := f.fn.args(); args > 0 {
		f.arglen = uintptr(args)
	}
}

// liveWords asks the runtime; what has no map, it would throw at.
func (f *stkframe) liveWords() (known int, live []int) {
	frame := *f
	if funcdata(f.fn, 1) != nil {
		known |= knowsVariables
	} else {
		frame.varp = frame.sp
	}
	args := f.fn.args()
	if funcdata(f.fn, 0) != nil && args > 0 {
		known |= knowsArguments
	} else if args > 0 {
		// Assembly without a Go declaration, which has no variables with maps either.
		return 0, nil
	}
	locals, arguments := getStackMap(&frame)
	base := f.varp - uintptr(locals.n)*8
	for i := uintptr(0); i < uintptr(locals.n); i++ {
		if locals.bit(i) {
			live = append(live, int(f.fp)-int(base+i*8))
		}
	}
	if known&knowsArguments == 0 {
		return known, live
	}
	for i := uintptr(0); i < uintptr(arguments.n); i++ {
		if arguments.bit(i) {
			live = append(live, int(f.fp)-int(f.argp+i*8))
		}
	}
	return known, live
}

func (b *bitvector) bit(i uintptr) bool {
	return *(*byte)(unsafe.Add(unsafe.Pointer(b.bytes), i/8))>>(i%8)&1 != 0
}
