// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

type derived struct {
	from, made context.Context
}

type key struct{}

// Every kind of context that package context makes from another.
func contexts() []derived {
	from := context.WithValue(context.Background(), key{}, 1)
	value := context.WithValue(from, key{}, 2)
	cancelled, cancel := context.WithCancel(from)
	defer cancel()
	timed, cancelTimed := context.WithTimeout(from, time.Hour)
	defer cancelTimed()
	return append(newerContexts(from), derived{from, value}, derived{from, cancelled},
		derived{from, timed})
}
