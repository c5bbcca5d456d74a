// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"time"
)

// write stores what was done, a line of JSON each: the process and its kinds, its spans, its work.
func write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	fmt.Fprintf(out, `{"pid":%d,"go":%q,"monotonic_ns":%d,"wall_ns":%d,"kinds":[`, os.Getpid(),
		runtime.Version(), clock(clockMonotonic), time.Now().UnixNano())
	for i, k := range kinds {
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintf(out, `{"name":%q,"rule":%q,"least":%g}`, k.name, k.rule, k.least)
	}
	fmt.Fprintln(out, "]}")
	for _, s := range table.records {
		fmt.Fprintf(out, `{"span":"%s","trace":"%s","start":%d,"end":%d,"sampled":%t,"name":%q}`+
			"\n", s.span, s.trace, s.start, s.end, s.sampled, s.name)
	}
	for _, s := range slots[:slotCount.Load()] {
		fmt.Fprintf(out, `{"kind":%d,"tid":%d,"begin":%d,"finish":%d,"cpu":%d,"right":[`,
			s.kind.index, s.tid, s.begin, s.end, s.cpu)
		for i, id := range s.right[:s.rights] {
			if i > 0 {
				fmt.Fprint(out, ",")
			}
			fmt.Fprintf(out, `{"span":"%s","trace":"%s"}`, id.span, id.trace)
		}
		fmt.Fprintln(out, "]}")
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
