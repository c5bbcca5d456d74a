// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// resolve treats the first address of a line as the one that is executed, the others as returned to.
func resolve() {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	in.Buffer(make([]byte, 1<<20), 1<<20)
	for in.Scan() {
		var pcs []uintptr
		for i, text := range strings.Fields(in.Text()) {
			pc, _ := strconv.ParseUint(text, 16, 64)
			if i == 0 {
				pc++
			}
			pcs = expandLast(append(pcs, uintptr(pc)))
		}
		frames := runtime.CallersFrames(pcs)
		for more := len(pcs) > 0; more; {
			var f runtime.Frame
			f, more = frames.Next()
			fmt.Fprintf(out, "%s %s:%d\t", f.Function, f.File, f.Line)
		}
		fmt.Fprintln(out)
	}
	out.Flush()
}
