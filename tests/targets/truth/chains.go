// SPDX-License-Identifier: Apache-2.0

// The work: a chain of functions of its own for every kind, so that a stack alone tells the kind.
//
// Convention the verifier relies on: a function's only call stands on the line after its head, so
// that the line of every caller in a stack is known (head + 1); a function without calls may show
// any of its lines.
package main

// rounds of the generator that one step of the chain's leaf makes.
const stepRounds = 64

//go:noinline
func spin(steps uint64) uint64 {
	x := steps | 1
	for i := steps * stepRounds; i > 0; i-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func turn(steps uint64) uint64 {
	return spin(steps) + 1
}

// A frameless leaf: no calls, nothing spilled, so the compiler gives it no frame, and its caller is
// only found at the top of the stack.
//
//go:noinline
func leafStep(x uint64) uint64 {
	for i := 0; i < stepRounds; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func leafLoop(steps uint64) uint64 {
	x := steps | 1
	for ; steps > 0; steps-- {
		x = leafStep(x)
	}
	return x
}

// Small enough to be inlined: its frame exists only in the inlining tables.
func mix(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}

//go:noinline
func inlineLoop(steps uint64) uint64 {
	x := steps | 1
	for i := steps * stepRounds; i > 0; i-- {
		x = mix(x)
	}
	return x
}

//go:noinline
func descend(depth, steps uint64) uint64 {
	if depth == 0 {
		return turn(steps)
	}
	return descend(depth-1, steps) + 1
}

// One head per kind. The names are what the verifier sees in the stacks.

//go:noinline
func soloWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func nestedOuterWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func nestedMiddleWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func nestedInnerWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func nestedMiddleAgainWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func nestedOuterAgainWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func orderAllOpenWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func orderFirstEndedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func orderThirdLeftWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func orderNoneLeftWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func elsewhereOpenWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func elsewhereEndedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func parentBesideWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func childWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func childOwnSpanWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func childAfterOwnWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func grandchildWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func orphanOpenWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func orphanEndedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func pooledSpanWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func pooledIdleWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func outsideWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func leakedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func afterLeakWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderParkedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderAsleepWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderChildWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderDerivedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderUnawareWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderInnerWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderOuterWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderUntilEndedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderEndedWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderNewWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderAgainWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderNewChildWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func olderIdleWork(steps uint64) uint64 {
	return turn(steps) + 1
}

//go:noinline
func leafWork(steps uint64) uint64 {
	return leafLoop(steps) + 1
}

//go:noinline
func inlineWork(steps uint64) uint64 {
	return inlineLoop(steps) + 1
}

//go:noinline
func deepWork(steps uint64) uint64 {
	return descend(deepFrames, steps) + 1
}
