// SPDX-License-Identifier: Apache-2.0

//go:build go1.21

package main

import (
	"runtime"
	_ "unsafe"
)

const nameKind = "full"

//go:linkname symbolName runtime/pprof.runtime_FrameSymbolName
func symbolName(f *runtime.Frame) string

//go:linkname startLine runtime/pprof.runtime_FrameStartLine
func startLine(f *runtime.Frame) int
