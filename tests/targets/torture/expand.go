// SPDX-License-Identifier: Apache-2.0

//go:build !go1.23

package main

import _ "unsafe" // for go:linkname

// expandLast puts an address for each call that is inlined at the last one in its place, as
// runtime.CallersFrames wants them before Go 1.23.
//
//go:linkname expandLast runtime/pprof.runtime_expandFinalInlineFrame
func expandLast(pcs []uintptr) []uintptr
