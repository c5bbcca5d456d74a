// SPDX-License-Identifier: Apache-2.0

// The kinds of work, and the stack each must show.
package main

import (
	_ "embed" // for the text of chains.go
	"reflect"
	"runtime"
	"strings"
)

type kind int

const (
	solo kind = iota
	nestedOuter
	nestedMiddle
	nestedInner
	nestedMiddleAgain
	nestedOuterAgain
	orderAllOpen
	orderFirstEnded
	orderThirdLeft
	orderNoneLeft
	elsewhereOpen
	elsewhereEnded
	parentBeside
	child
	childOwnSpan
	childAfterOwn
	grandchild
	orphanOpen
	orphanEnded
	pooledSpan
	pooledIdle
	outside
	leaked
	afterLeak
	older
	olderParked
	olderAsleep
	olderChild
	olderDerived
	olderUnaware
	olderInner
	olderOuter
	olderUntilEnded
	olderEnded
	olderNew
	olderAgain
	olderNewChild
	olderIdle
	leaf
	inline
	deep
	kindCount
)

// deepFrames are the recursive calls under deepWork.
const deepFrames = 150

type kindInfo struct {
	name string
	work func(uint64) uint64
	spin func(uint64) uint64 // the loop at the bottom, for calibration
}

var kinds = [kindCount]kindInfo{
	solo:              {"solo", soloWork, spin},
	nestedOuter:       {"nested-outer", nestedOuterWork, spin},
	nestedMiddle:      {"nested-middle", nestedMiddleWork, spin},
	nestedInner:       {"nested-inner", nestedInnerWork, spin},
	nestedMiddleAgain: {"nested-middle-again", nestedMiddleAgainWork, spin},
	nestedOuterAgain:  {"nested-outer-again", nestedOuterAgainWork, spin},
	orderAllOpen:      {"order-all-open", orderAllOpenWork, spin},
	orderFirstEnded:   {"order-first-ended", orderFirstEndedWork, spin},
	orderThirdLeft:    {"order-third-left", orderThirdLeftWork, spin},
	orderNoneLeft:     {"order-none-left", orderNoneLeftWork, spin},
	elsewhereOpen:     {"elsewhere-open", elsewhereOpenWork, spin},
	elsewhereEnded:    {"elsewhere-ended", elsewhereEndedWork, spin},
	parentBeside:      {"parent-beside", parentBesideWork, spin},
	child:             {"child", childWork, spin},
	childOwnSpan:      {"child-own-span", childOwnSpanWork, spin},
	childAfterOwn:     {"child-after-own", childAfterOwnWork, spin},
	grandchild:        {"grandchild", grandchildWork, spin},
	orphanOpen:        {"orphan-open", orphanOpenWork, spin},
	orphanEnded:       {"orphan-ended", orphanEndedWork, spin},
	pooledSpan:        {"pooled-span", pooledSpanWork, spin},
	pooledIdle:        {"pooled-idle", pooledIdleWork, spin},
	outside:           {"outside", outsideWork, spin},
	leaked:            {"leaked", leakedWork, spin},
	afterLeak:         {"after-leak", afterLeakWork, spin},
	older:             {"older", olderWork, spin},
	olderParked:       {"older-parked", olderParkedWork, spin},
	olderAsleep:       {"older-asleep", olderAsleepWork, spin},
	olderChild:        {"older-child", olderChildWork, spin},
	olderDerived:      {"older-derived", olderDerivedWork, spin},
	olderUnaware:      {"older-unaware", olderUnawareWork, spin},
	olderInner:        {"older-inner", olderInnerWork, spin},
	olderOuter:        {"older-outer", olderOuterWork, spin},
	olderUntilEnded:   {"older-until-ended", olderUntilEndedWork, spin},
	olderEnded:        {"older-ended", olderEndedWork, spin},
	olderNew:          {"older-new", olderNewWork, spin},
	olderAgain:        {"older-again", olderAgainWork, spin},
	olderNewChild:     {"older-new-child", olderNewChildWork, spin},
	olderIdle:         {"older-idle", olderIdleWork, spin},
	leaf:              {"leaf", leafWork, leafLoop},
	inline:            {"inline", inlineWork, inlineLoop},
	deep:              {"deep", deepWork, spin},
}

// frame is one frame of the stack a kind must show. A leaf may show the lines First to Last, a
// caller only the line Call.
type frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	First    int    `json:"first"`
	Last     int    `json:"last"`
	Call     int    `json:"call"`
}

// The heads' lines are read from the text: a function without a prologue has no code for its head.
//
//go:embed chains.go
var chains string

// describe gives the frame of a function of chains.go: `lines` long after its head, calling `call`
// lines after it.
func describe(f any, lines, call int) frame {
	fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
	file, _ := fn.FileLine(fn.Entry())
	above, _, found := strings.Cut(chains, "\nfunc "+strings.TrimPrefix(fn.Name(), "main.")+"(")
	if !found {
		panic(fn.Name() + " is not in chains.go")
	}
	head := strings.Count(above, "\n") + 2
	return frame{fn.Name(), file, head, head + lines, head + call}
}

// chain lists the frames below slot(), leaf first.
func (k kind) chain() []frame {
	head := describe(kinds[k].work, 1, 1)
	bottom := describe(spin, 8, 0)
	middle := describe(turn, 1, 1)
	switch k {
	case leaf:
		return []frame{describe(leafStep, 6, 0), describe(leafLoop, 4, 3), head}
	case inline:
		mixed := describe(mix, 3, 0)
		return []frame{mixed, describe(inlineLoop, 5, 3), head}
	case deep:
		frames := []frame{bottom, middle, describe(descend, 4, 2)}
		for i := 0; i < deepFrames; i++ {
			frames = append(frames, describe(descend, 4, 4))
		}
		return append(frames, head)
	}
	return []frame{bottom, middle, head}
}
