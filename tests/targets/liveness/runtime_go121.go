// SPDX-License-Identifier: Apache-2.0

//go:build !go1.22

package main

import "unsafe"

//go:linkname funcspdelta runtime.funcspdelta
func funcspdelta(f funcInfo, pc uintptr, cache unsafe.Pointer) int32

//go:linkname pcdatavalue runtime.pcdatavalue
func pcdatavalue(f funcInfo, table uint32, pc uintptr, cache unsafe.Pointer) int32

func getStackMap(frame *stkframe) (locals, args bitvector) {
	locals, args, _ = runtimeStackMap(frame, nil, false)
	return locals, args
}

func spDelta(f funcInfo, pc uintptr) int32 { return funcspdelta(f, pc, nil) }

func mapIndex(f funcInfo, pc uintptr) int32 { return pcdatavalue(f, 1, pc, nil) }
