// SPDX-License-Identifier: Apache-2.0

//go:build c

package main

// As in a program with C of its own, which a package with assembly cannot have.
import _ "runtime/cgo"
