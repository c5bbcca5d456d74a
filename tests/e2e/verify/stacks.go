// SPDX-License-Identifier: Apache-2.0

// Compares a sample's stack with the one that its kind of work must show, frame by frame.
package main

import (
	"fmt"
	"strings"
)

// stackVerdict says how a stack compares with the known chain.
type stackVerdict struct {
	right     bool
	scheduler bool   // no frame of the program: the thread was between goroutines
	top       int    // index in the chain of the innermost frame that was seen
	foreign   int    // frames above it: runtime, signal, kernel
	why       string // what is wrong
}

// ours are the functions of the truth program; all others may interrupt it at any instruction.
func ours(function string) bool {
	return strings.HasPrefix(function, "main.")
}

// schedulerFrames are the roots of a system stack on which no goroutine is being run.
var schedulerFrames = map[string]bool{"runtime.mcall": true, "runtime.mstart": true,
	"runtime.mstart0": true, "runtime.mstart1": true, "runtime.schedule": true,
	"runtime.stoplockedm": true, "runtime.park_m": true, "runtime.gopreempt_m": true,
	"runtime.goschedImpl": true, "runtime.findRunnable": true, "runtime.goexit0": true,
	"runtime.execute": true, "runtime.gogo": true, "runtime.exitsyscall0": true,
	"runtime.clone": true, "runtime.gosched_m": true, "runtime.preemptPark": true}

func onScheduler(stack []location) bool {
	found := false
	for _, l := range stack {
		if ours(l.function) {
			return false
		}
		found = found || schedulerFrames[l.function]
	}
	return found
}

// compareStack walks both stacks from the root. The sample may have been taken in any frame of the
// chain (what lies under it has not been called yet), or in a foreign function above that frame.
func compareStack(k *kind, stack []location) stackVerdict {
	if onScheduler(stack) {
		return stackVerdict{scheduler: true}
	}
	expected, seen := len(k.Stack)-1, len(stack)-1
	for ; expected >= 0 && seen >= 0; expected, seen = expected-1, seen-1 {
		want, got := &k.Stack[expected], &stack[seen]
		if want.Function != got.function || want.File != got.file {
			break
		}
		innermost := expected == 0 || seen == 0 || k.Stack[expected-1].Function !=
			stack[seen-1].function
		if innermost && (got.line < want.First || got.line > want.Last) ||
			!innermost && got.line != want.Call {
			return stackVerdict{why: fmt.Sprintf("%s at line %d, not %d (%d-%d)",
				got.function, got.line, want.Call, want.First, want.Last)}
		}
	}
	verdict := stackVerdict{top: expected + 1, foreign: seen + 1}
	if verdict.top > k.Slot {
		verdict.why = "does not reach the work: " + difference(k, stack, expected, seen)
		return verdict
	}
	for _, above := range stack[:seen+1] {
		// The clock is read at the two edges of a slot.
		if ours(above.function) && !(verdict.top == k.Slot && above.function == "main.clock") {
			verdict.why = difference(k, stack, expected, seen)
			return verdict
		}
	}
	verdict.right = true
	return verdict
}

func difference(k *kind, stack []location, expected, seen int) string {
	want, got := "nothing", "nothing"
	if expected >= 0 {
		want = k.Stack[expected].Function
	}
	if seen >= 0 {
		got = stack[seen].function
	}
	return fmt.Sprintf("%s where %s is called", got, want)
}
