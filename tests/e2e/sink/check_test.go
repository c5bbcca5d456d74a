// SPDX-License-Identifier: Apache-2.0
// The checker itself: a good request passes, and every kind of damage is noticed.

package main

import (
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func text(value string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}
}

func good() *collector.ExportProfilesServiceRequest {
	return &collector.ExportProfilesServiceRequest{
		Dictionary: &profiles.ProfilesDictionary{
			StringTable:    []string{"", "samples", "count", "main.main", "key", "/srv/shop"},
			MappingTable:   []*profiles.Mapping{{}, {MemoryStart: 1, MemoryLimit: 2, FilenameStrindex: 5}},
			LocationTable:  []*profiles.Location{{}, {MappingIndex: 1, Address: 7, Lines: []*profiles.Line{{FunctionIndex: 1}}}},
			FunctionTable:  []*profiles.Function{{}, {NameStrindex: 3}},
			LinkTable:      []*profiles.Link{{}, {TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567")}},
			AttributeTable: []*profiles.KeyValueAndUnit{{}, {KeyStrindex: 4, Value: text("v")}},
			StackTable:     []*profiles.Stack{{}, {LocationIndices: []int32{1}}},
		},
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{{Key: "service.name", Value: text("shop")}}},
			ScopeProfiles: []*profiles.ScopeProfiles{{
				Scope: &common.InstrumentationScope{Name: "spanprof"},
				Profiles: []*profiles.Profile{{
					SampleType:   &profiles.ValueType{TypeStrindex: 1, UnitStrindex: 2},
					Samples:      []*profiles.Sample{{StackIndex: 1, LinkIndex: 1, AttributeIndices: []int32{1}, Values: []int64{3}}},
					TimeUnixNano: 100,
					DurationNano: 10,
					Period:       5,
					ProfileId:    []byte("0123456789abcdef"),
				}},
			}},
		}},
	}
}

func problems(t *testing.T, request *collector.ExportProfilesServiceRequest) []string {
	t.Helper()
	data, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return checkRequest(data).Problems
}

func TestGoodRequest(t *testing.T) {
	data, err := proto.Marshal(good())
	if err != nil {
		t.Fatal(err)
	}
	result := checkRequest(data)
	if len(result.Problems) != 0 {
		t.Fatalf("problems %q", result.Problems)
	}
	if result.Samples != 1 || result.Values != 3 || result.LinkedValues != 3 ||
		result.CPUNanos != 15 || result.Links != 1 || result.Services[0] != "shop" {
		t.Fatalf("figures %s", result.line())
	}
}

func TestDamage(t *testing.T) {
	type request = *collector.ExportProfilesServiceRequest
	profile := func(r request) *profiles.Profile {
		return r.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
	}
	for want, damage := range map[string]func(r request){
		"no dictionary":                           func(r request) { r.Dictionary = nil },
		"entry 0 of the link table has":           func(r request) { r.Dictionary.LinkTable[0].SpanId = make([]byte, 8) },
		`entry 0 of the string table is not ""`:   func(r request) { r.Dictionary.StringTable[0] = "x" },
		"the stack table is empty":                func(r request) { r.Dictionary.StackTable = nil },
		"entry 2 of the stack table, which has 2": func(r request) { profile(r).Samples[0].StackIndex = 2 },
		"entry -1 of the link table":              func(r request) { profile(r).Samples[0].LinkIndex = -1 },
		"entry 9 of the location table":           func(r request) { r.Dictionary.StackTable[1].LocationIndices[0] = 9 },
		"entry 9 of the function table":           func(r request) { r.Dictionary.LocationTable[1].Lines[0].FunctionIndex = 9 },
		"entry 9 of the mapping table":            func(r request) { r.Dictionary.LocationTable[1].MappingIndex = 9 },
		"entry 9 of the string table":             func(r request) { r.Dictionary.FunctionTable[1].NameStrindex = 9 },
		"nothing needs entry 6 of the string":     func(r request) { r.Dictionary.StringTable = append(r.Dictionary.StringTable, "orphan") },
		"nothing needs entry 1 of the link":       func(r request) { profile(r).Samples[0].LinkIndex = 0 },
		"strings 1 and 2 are both":                func(r request) { r.Dictionary.StringTable[2] = "samples" },
		"are the same":                            func(r request) { r.Dictionary.StackTable = append(r.Dictionary.StackTable, r.Dictionary.StackTable[1]) },
		"has control characters":                  func(r request) { r.Dictionary.StringTable[3] = "a\x1bb" },
		"link 1 has the trace ID":                 func(r request) { r.Dictionary.LinkTable[1].TraceId = make([]byte, 16) },
		"link 1 has the span ID":                  func(r request) { r.Dictionary.LinkTable[1].SpanId = []byte("0123456") },
		"mapping 1: 0x2 to 0x2":                   func(r request) { r.Dictionary.MappingTable[1].MemoryStart = 2 },
		"has the ID":                              func(r request) { profile(r).ProfileId = nil },
		"has no time":                             func(r request) { profile(r).TimeUnixNano = 0 },
		"has no sample type":                      func(r request) { profile(r).SampleType = nil },
		"has the value 0":                         func(r request) { profile(r).Samples[0].Values[0] = 0 },
		"has 0 values and 0 timestamps":           func(r request) { profile(r).Samples[0].Values = nil },
		"is outside the window":                   func(r request) { profile(r).Samples[0].TimestampsUnixNano = []uint64{110} },
		"the same as sample 0":                    func(r request) { profile(r).Samples = append(profile(r).Samples, profile(r).Samples[0]) },
		`has "key" twice`:                         func(r request) { profile(r).Samples[0].AttributeIndices = []int32{1, 1} },
		"resource 1 is there twice":               func(r request) { r.ResourceProfiles = append(r.ResourceProfiles, r.ResourceProfiles[0]) },
		"has an attribute without a plain key":    func(r request) { r.ResourceProfiles[0].Resource.Attributes[0].Key = "" },
		"has a value by string reference": func(r request) {
			r.ResourceProfiles[0].Resource.Attributes[0].Value.Value = &common.AnyValue_StringValueStrindex{StringValueStrindex: 1}
		},
		"has 13 attributes": func(r request) {
			for i := range 12 {
				r.ResourceProfiles[0].Resource.Attributes = append(r.ResourceProfiles[0].Resource.Attributes,
					&common.KeyValue{Key: string(rune('a' + i)), Value: text("v")})
			}
		},
		"unknown fields": func(r request) {
			r.Dictionary.ProtoReflect().SetUnknown(protowire.AppendTag(nil, 99, protowire.VarintType))
			r.Dictionary.ProtoReflect().SetUnknown(protowire.AppendVarint(r.Dictionary.ProtoReflect().GetUnknown(), 1))
		},
	} {
		request := good()
		damage(request)
		if got := problems(t, request); !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("wanted %q, got %q", want, got)
		}
	}
	if got := checkRequest([]byte("\x12\x03\x2a\x01\xff")).Problems; len(got) != 1 ||
		!strings.Contains(got[0], "invalid UTF-8") {
		t.Errorf("invalid UTF-8: %q", got)
	}
}
