// SPDX-License-Identifier: Apache-2.0

// "rows -pprof FILE" prints what a pprof file says, in the lines of tests/e2e/sink rows.
package main

import (
	"flag"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

var (
	traceID = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
	spanID  = regexp.MustCompile(`^[0-9a-fA-F]{16}$`)
)

// rowLink is what a sample can be linked by: a trace and a span, both well-formed.
func rowLink(s *profile.Sample) string {
	trace, span := label(s, "trace_id"), label(s, "span_id")
	if span == "" {
		span = label(s, "profile_id")
	}
	if !traceID.MatchString(trace) || !spanID.MatchString(span) ||
		strings.Trim(trace, "0") == "" {
		return "- -"
	}
	return strings.ToLower(trace + " " + span)
}

func rowService(p *profile.Profile, s *profile.Sample) string {
	for _, key := range []string{"service", "service_name", "service.name"} {
		if name := label(s, key); name != "" {
			return name
		}
	}
	if len(p.Mapping) > 0 {
		return path.Base(p.Mapping[0].File)
	}
	return "-"
}

func rowLocation(l *profile.Location) string {
	file, id := "", ""
	if l.Mapping != nil {
		file, id = l.Mapping.File, l.Mapping.BuildID
	}
	text := fmt.Sprintf("%x@%s#%s", l.Address, file, id)
	for _, line := range l.Line {
		f := line.Function
		text += fmt.Sprintf("|%s %s:%d from %d", f.Name, f.Filename, line.Line, f.StartLine)
	}
	return text
}

func printRows(arguments []string) error {
	flags := flag.NewFlagSet("rows", flag.ExitOnError)
	file := flags.String("pprof", "", "pprof file")
	flags.Parse(arguments)
	p, err := parsePprof(*file)
	if err != nil {
		return err
	}
	sums := map[string]int64{}
	for i, kind := range p.SampleType {
		if kind.Type != "cpu" && kind.Type != "off_cpu" {
			continue
		}
		for _, s := range p.Sample {
			row := []string{kind.Type, rowService(p, s), rowLink(s)}
			for _, l := range s.Location {
				row = append(row, rowLocation(l))
			}
			sums[strings.Join(row, " ")] += s.Value[i]
		}
	}
	lines := []string{fmt.Sprintf("profile %d %d %d", p.TimeNanos, p.DurationNanos, p.Period)}
	for row, ns := range sums {
		if ns != 0 {
			lines = append(lines, fmt.Sprintf("%d %s", ns, row))
		}
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}
