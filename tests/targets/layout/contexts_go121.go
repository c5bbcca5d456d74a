// SPDX-License-Identifier: Apache-2.0

//go:build go1.21

package main

import "context"

// telling is a context that calls back when it ends: its children keep it in a stopCtx.
type telling struct {
	context.Context
}

func (telling) Done() <-chan struct{} {
	return make(chan struct{})
}

func (telling) AfterFunc(func()) func() bool {
	return func() bool { return true }
}

func newerContexts(from context.Context) []derived {
	var parent context.Context = telling{from}
	child, cancel := context.WithCancel(parent)
	defer cancel()
	// What a cancelCtx begins with.
	stop := *(*context.Context)(contextWords(child).data)
	return []derived{{from, context.WithoutCancel(from)}, {parent, stop}}
}
