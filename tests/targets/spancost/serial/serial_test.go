// SPDX-License-Identifier: Apache-2.0

package serial

import "testing"

func TestOf(t *testing.T) {
	for _, s := range []Serial{{1, 0, 0}, {1, 1, 65535}, {65535, 1<<32 - 1, 3}, {2, 77, 0}} {
		if got := Of(s.SpanID()); got != s {
			t.Errorf("%+v became %+v", s, got)
		}
	}
	root, child := Serial{3, 4, 0}, Serial{3, 4, 5}
	if root.TraceID() != child.TraceID() || root.SpanID() == child.SpanID() {
		t.Error("a child is of its request's trace, with an ID of its own")
	}
}
