// SPDX-License-Identifier: Apache-2.0

//go:build go1.20 && !go1.22

package main

import "unsafe"

//go:linkname runtimeStackMap runtime.(*stkframe).getStackMap
func runtimeStackMap(frame *stkframe, cache unsafe.Pointer, debug bool) (locals, args bitvector, objects []byte)
