// SPDX-License-Identifier: Apache-2.0

//go:build exported

package main

// A program that may load plugins exports its symbols, runtime.tlsg too: in a PIE, g's place then
// stands in the GOT alone.
import _ "plugin"
