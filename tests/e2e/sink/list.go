// SPDX-License-Identifier: Apache-2.0
// "list FILE..." prints what requests say of services, of spans and their CPU time, in lines that a
// shell can compare; "unframe FILE DIRECTORY" takes apart what a Collector wrote (format: proto).

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// listing sums up several requests.
type listing struct {
	resources map[string]bool
	linked    map[string]int64 // "trace span" → values
	functions map[string]map[string]bool
}

func listFiles(paths []string) error {
	l := listing{map[string]bool{}, map[string]int64{}, map[string]map[string]bool{}}
	if err := eachRequest(paths, l.add); err != nil {
		return err
	}
	l.print()
	return nil
}

// eachRequest reads files of one request each.
func eachRequest(paths []string, take func(*collector.ExportProfilesServiceRequest)) error {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		request := &collector.ExportProfilesServiceRequest{}
		if err := proto.Unmarshal(data, request); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		take(request)
	}
	return nil
}

// plain resolves references: the Collector writes them.
func plain(d *profiles.ProfilesDictionary, value *common.AnyValue) string {
	switch value := value.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return value.StringValue
	case *common.AnyValue_StringValueStrindex:
		return d.GetStringTable()[value.StringValueStrindex]
	case *common.AnyValue_IntValue:
		return fmt.Sprint(value.IntValue)
	}
	return fmt.Sprintf("%v", value)
}

func (l *listing) add(request *collector.ExportProfilesServiceRequest) {
	d := request.GetDictionary()
	for _, from := range request.GetResourceProfiles() {
		for _, a := range from.GetResource().GetAttributes() {
			key := a.GetKey() + d.GetStringTable()[a.GetKeyStrindex()] // one of them is ""
			l.resources[fmt.Sprintf("resource %s=%s", key, plain(d, a.GetValue()))] = true
		}
		for _, scope := range from.GetScopeProfiles() {
			for _, profile := range scope.GetProfiles() {
				if isOffCPU(d, profile) {
					continue
				}
				for _, sample := range profile.GetSamples() {
					l.addSample(d, sample)
				}
			}
		}
	}
}

func (l *listing) addSample(d *profiles.ProfilesDictionary, sample *profiles.Sample) {
	link := d.GetLinkTable()[sample.GetLinkIndex()]
	key := fmt.Sprintf("%x %x", link.GetTraceId(), link.GetSpanId())
	for _, value := range sample.GetValues() {
		l.linked[key] += value
	}
	if l.functions[key] == nil {
		l.functions[key] = map[string]bool{}
	}
	for _, at := range d.GetStackTable()[sample.GetStackIndex()].GetLocationIndices() {
		for _, line := range d.GetLocationTable()[at].GetLines() {
			name := d.GetFunctionTable()[line.GetFunctionIndex()].GetNameStrindex()
			l.functions[key][d.GetStringTable()[name]] = true
		}
	}
}

func (l *listing) print() {
	lines := []string{}
	for resource := range l.resources {
		lines = append(lines, resource)
	}
	for key, values := range l.linked {
		if key == " " { // no link
			lines = append(lines, fmt.Sprintf("unlinked %d", values))
			continue
		}
		lines = append(lines, fmt.Sprintf("link %s %d", key, values))
		for function := range l.functions[key] {
			lines = append(lines, fmt.Sprintf("function %s %s", key, function))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

// unframe writes each message, which follows its big-endian length, to a file of its own.
func unframe(path, directory string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for number := 1; ; number++ {
		var size uint32
		if err := binary.Read(file, binary.BigEndian, &size); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if size > 64<<20 {
			return fmt.Errorf("%s: a message of %d bytes", path, size)
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(file, data); err != nil {
			return err
		}
		name := filepath.Join(directory, fmt.Sprintf("message-%04d.otlp", number))
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
}
