// SPDX-License-Identifier: Apache-2.0

// The program's own profiler labels, as it set them and as runtime/pprof finds them.
package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
)

// standing marks goroutines whose labels are the same in every run at that moment.
const standing = "standing"

// keepLabelled parks goroutines with labels for good: they are older than any profiler.
func keepLabelled() {
	for i := range 3 {
		ready := make(chan struct{})
		set := pprof.Labels(standing, "always", "tenant", fmt.Sprint(i), "span_id", "none")
		go pprof.Do(context.Background(), set, func(context.Context) {
			close(ready)
			select {}
		})
		<-ready
	}
}

// labelsOfAll is what a goroutine profile says of those that stand.
func labelsOfAll() string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	var found []string
	count := ""
	for line := range strings.Lines(profile.String()) {
		switch {
		case strings.Contains(line, " @ "):
			count, _, _ = strings.Cut(line, " ")
		case strings.HasPrefix(line, "# labels:") && strings.Contains(line, standing):
			set := strings.TrimSpace(strings.TrimPrefix(line, "# labels:"))
			found = append(found, count+"×"+set)
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// labelsOf is what the context says of labels; the same must stand on the goroutine.
func labelsOf(ctx context.Context) string {
	var found []string
	pprof.ForLabels(ctx, func(key, value string) bool {
		found = append(found, key+"="+value)
		return true
	})
	slices.Sort(found)
	return strings.Join(found, " ")
}
