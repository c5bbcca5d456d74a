// SPDX-License-Identifier: Apache-2.0
// "rows FILE..." prints what requests say, sample by sample, in lines that another reader of another
// format can print, too: nanoseconds, kind, service, trace, span, then the stack, leaf first.

package main

import (
	"fmt"
	"slices"
	"strings"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

type rows struct {
	sums  map[string]int64 // of nanoseconds, by all else
	heads map[string]bool
}

func printRows(paths []string) error {
	r := rows{map[string]int64{}, map[string]bool{}}
	if err := eachRequest(paths, r.add); err != nil {
		return err
	}
	lines := []string{}
	for head := range r.heads {
		lines = append(lines, head)
	}
	for row, ns := range r.sums {
		lines = append(lines, fmt.Sprintf("%d %s", ns, row))
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}

func (r *rows) add(request *collector.ExportProfilesServiceRequest) {
	d := request.GetDictionary()
	for _, from := range request.GetResourceProfiles() {
		service := "-"
		for _, a := range from.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = plain(d, a.GetValue())
			}
		}
		for _, scope := range from.GetScopeProfiles() {
			for _, p := range scope.GetProfiles() {
				r.addProfile(d, p, service)
			}
		}
	}
}

func (r *rows) addProfile(d *profiles.ProfilesDictionary, p *profiles.Profile, service string) {
	kind, worth := "off_cpu", int64(1)
	if !isOffCPU(d, p) {
		kind, worth = "cpu", p.GetPeriod()
		r.heads[fmt.Sprintf("profile %d %d %d", p.GetTimeUnixNano(), p.GetDurationNano(),
			p.GetPeriod())] = true
	}
	for _, s := range p.GetSamples() {
		row := []string{kind, service, "- -"}
		if s.GetLinkIndex() != 0 {
			link := d.GetLinkTable()[s.GetLinkIndex()]
			row[2] = fmt.Sprintf("%x %x", link.GetTraceId(), link.GetSpanId())
		}
		for _, at := range d.GetStackTable()[s.GetStackIndex()].GetLocationIndices() {
			row = append(row, location(d, d.GetLocationTable()[at]))
		}
		for _, value := range s.GetValues() {
			r.sums[strings.Join(row, " ")] += value * worth
		}
	}
}

// buildID is the one that pprof has room for.
func buildID(d *profiles.ProfilesDictionary, m *profiles.Mapping) string {
	found := map[string]string{}
	for _, at := range m.GetAttributeIndices() {
		a := d.GetAttributeTable()[at]
		found[d.GetStringTable()[a.GetKeyStrindex()]] = plain(d, a.GetValue())
	}
	if id := found["process.executable.build_id.gnu"]; id != "" {
		return id
	}
	return found["process.executable.build_id.go"]
}

func location(d *profiles.ProfilesDictionary, l *profiles.Location) string {
	texts, m := d.GetStringTable(), d.GetMappingTable()[l.GetMappingIndex()]
	text := fmt.Sprintf("%x@%s#%s", l.GetAddress(), texts[m.GetFilenameStrindex()], buildID(d, m))
	for _, line := range l.GetLines() {
		f := d.GetFunctionTable()[line.GetFunctionIndex()]
		text += fmt.Sprintf("|%s %s:%d from %d", texts[f.GetNameStrindex()],
			texts[f.GetFilenameStrindex()], line.GetLine(), f.GetStartLine())
	}
	return text
}
