// SPDX-License-Identifier: Apache-2.0

//go:build !go1.21

package main

import "runtime"

const nameKind = "short"

func symbolName(f *runtime.Frame) string { return f.Function }

func startLine(f *runtime.Frame) int { return 0 }
