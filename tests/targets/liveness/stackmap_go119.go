// SPDX-License-Identifier: Apache-2.0

//go:build !go1.20

package main

import "unsafe"

//go:linkname runtimeStackMap runtime.getStackMap
func runtimeStackMap(frame *stkframe, cache unsafe.Pointer, debug bool) (locals, args bitvector, objects []byte)
