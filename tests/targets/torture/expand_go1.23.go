// SPDX-License-Identifier: Apache-2.0

//go:build go1.23

package main

// expandLast: runtime.CallersFrames tells the calls that are inlined at any address.
func expandLast(pcs []uintptr) []uintptr { return pcs }
