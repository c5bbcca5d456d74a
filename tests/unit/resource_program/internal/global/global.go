// SPDX-License-Identifier: Apache-2.0

// Package global has as much of the OpenTelemetry API as can be seen from outside: the provider that
// a program sets for all, in memory.
package global

import (
	"errors"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/trace"
)

type TracerProvider interface {
	Start(name string) trace.Span
}

type tracerProviderHolder struct {
	tp TracerProvider
}

// none stands there until one is set.
type none struct{ delegate TracerProvider }

func (n *none) Start(name string) trace.Span {
	return n.delegate.Start(name)
}

var (
	globalTracer = newTracer()
	once         sync.Once
	errNone      = errors.New("no provider")
)

func newTracer() *atomic.Value {
	v := &atomic.Value{}
	v.Store(tracerProviderHolder{tp: &none{}})
	return v
}

//go:noinline
func SetTracerProvider(tp TracerProvider) {
	current := globalTracer.Load().(tracerProviderHolder).tp
	if current == tp {
		panic(errNone)
	}
	once.Do(func() {
		if n, ok := current.(*none); ok {
			n.delegate = tp
		}
	})
	globalTracer.Store(tracerProviderHolder{tp: tp})
}
