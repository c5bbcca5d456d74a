// SPDX-License-Identifier: Apache-2.0
// Checks one request against everything that receivers and readers of OTLP Profiles rely on.

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What backends take: Pyroscope allows 30 labels, and every resource attribute becomes one.
const resourceAttributesMax = 12

// figures are what one request holds, printed as one line of JSON.
type figures struct {
	Request      int      `json:"request,omitempty"` // running number, server only
	File         string   `json:"file,omitempty"`
	Bytes        int      `json:"bytes"`
	WireBytes    int      `json:"wire_bytes,omitempty"`
	Resources    int      `json:"resources"`
	Profiles     int      `json:"profiles"`
	Samples      int      `json:"samples"`
	Values       int64    `json:"values"`        // sum over all samples of CPU time
	LinkedValues int64    `json:"linked_values"` // of those with a link
	CPUNanos     int64    `json:"cpu_ns"`        // values × period, of CPU time
	OffCPUNanos  int64    `json:"off_cpu_ns"`
	Links        int      `json:"links"` // distinct
	Stacks       int      `json:"stacks"`
	Services     []string `json:"services"`
	TimeUnixNano uint64   `json:"time_unix_nano"`
	DurationNano uint64   `json:"duration_nano"`
	AgeSeconds   *float64 `json:"age_seconds,omitempty"` // now − end of window, server only
	Problems     []string `json:"problems"`
}

func (f *figures) line() string {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A check collects problems while it marks what the samples reach.
type check struct {
	figures
	dictionary *profiles.ProfilesDictionary
	reached    map[string]map[int32]bool // table → indices
}

func (c *check) problem(format string, arguments ...any) {
	const enough = 20
	if len(c.Problems) < enough {
		c.Problems = append(c.Problems, fmt.Sprintf(format, arguments...))
	}
}

// checkRequest decodes with the official modules: invalid UTF-8 fails there already.
func checkRequest(data []byte) figures {
	c := &check{reached: map[string]map[int32]bool{}}
	c.Bytes = len(data)
	c.Problems = []string{}
	c.Services = []string{}
	request := &collector.ExportProfilesServiceRequest{}
	if err := proto.Unmarshal(data, request); err != nil {
		c.problem("does not decode: %v", err)
		return c.figures
	}
	c.dictionary = request.GetDictionary()
	if c.dictionary == nil {
		c.problem("no dictionary")
		return c.figures
	}
	c.messages(request.ProtoReflect(), "request")
	c.zeroValues()
	c.duplicates()
	resources := map[string]bool{}
	for i, from := range request.GetResourceProfiles() {
		where := fmt.Sprintf("resource %d", i)
		key := canonical(from.GetResource())
		if resources[key] {
			c.problem("%s is there twice", where)
		}
		resources[key] = true
		c.resource(where, from)
	}
	c.orphans()
	c.Resources = len(request.GetResourceProfiles())
	c.Links = len(c.dictionary.GetLinkTable()) - 1
	c.Stacks = len(c.dictionary.GetStackTable()) - 1
	return c.figures
}

func canonical(m proto.Message) string {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// messages looks at every message: unknown fields mean a wrong number or wire type.
func (c *check) messages(m protoreflect.Message, where string) {
	if len(m.GetUnknown()) > 0 {
		c.problem("%s has %d bytes of unknown fields", where, len(m.GetUnknown()))
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := where + "." + string(field.Name())
		each := func(value protoreflect.Value) {
			switch field.Kind() {
			case protoreflect.MessageKind:
				c.messages(value.Message(), name)
			case protoreflect.StringKind:
				c.text(name, value.String())
			}
		}
		if field.IsList() {
			for i := range value.List().Len() {
				each(value.List().Get(i))
			}
		} else {
			each(value)
		}
		return true
	})
}

// Bidirectional controls reorder what a person reads; U+2028 and U+2029 break lines.
func isControl(r rune) bool {
	return unicode.IsControl(r) || (r >= 0x2028 && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

func (c *check) text(where, text string) {
	if !utf8.ValidString(text) {
		c.problem("%s %q is no UTF-8", where, text)
	}
	if strings.ContainsFunc(text, isControl) {
		c.problem("%s %q has control characters", where, text)
	}
}

// tables are the dictionary's, in the order of their fields, strings left out.
func (c *check) tables() map[string][]proto.Message {
	return map[string][]proto.Message{
		"mapping":   messagesOf(c.dictionary.GetMappingTable()),
		"location":  messagesOf(c.dictionary.GetLocationTable()),
		"function":  messagesOf(c.dictionary.GetFunctionTable()),
		"link":      messagesOf(c.dictionary.GetLinkTable()),
		"attribute": messagesOf(c.dictionary.GetAttributeTable()),
		"stack":     messagesOf(c.dictionary.GetStackTable()),
	}
}

func messagesOf[M proto.Message](table []M) []proto.Message {
	list := make([]proto.Message, len(table))
	for i, m := range table {
		list[i] = m
	}
	return list
}

func (c *check) zeroValues() {
	for name, table := range c.tables() {
		if len(table) == 0 {
			c.problem("the %s table is empty", name)
		} else if size := proto.Size(table[0]); size != 0 {
			c.problem("entry 0 of the %s table has %d bytes", name, size)
		}
	}
	if strings := c.dictionary.GetStringTable(); len(strings) == 0 || strings[0] != "" {
		c.problem(`entry 0 of the string table is not ""`)
	}
}

func (c *check) duplicates() {
	seen := map[string]int{}
	for i, text := range c.dictionary.GetStringTable() {
		if first, found := seen[text]; found {
			c.problem("strings %d and %d are both %q", first, i, text)
		}
		seen[text] = i
	}
	for name, table := range c.tables() {
		seen := map[string]int{}
		for i, m := range table {
			key := canonical(m)
			if first, found := seen[key]; found {
				c.problem("entries %d and %d of the %s table are the same", first, i, name)
			}
			seen[key] = i
		}
	}
}

func (c *check) orphans() {
	sizes := map[string]int{"string": len(c.dictionary.GetStringTable())}
	for name, table := range c.tables() {
		sizes[name] = len(table)
	}
	for name, size := range sizes {
		for i := 1; i < size; i++ {
			if !c.reached[name][int32(i)] {
				c.problem("nothing needs entry %d of the %s table", i, name)
			}
		}
	}
}

// reach marks an index; false when it is out of range or was marked before.
func (c *check) reach(where, table string, index int32, size int) bool {
	if index < 0 || int(index) >= size {
		c.problem("%s: entry %d of the %s table, which has %d", where, index, table, size)
		return false
	}
	if c.reached[table] == nil {
		c.reached[table] = map[int32]bool{}
	}
	if c.reached[table][index] {
		return false
	}
	c.reached[table][index] = true
	return index != 0
}

func (c *check) reachText(where string, index int32) {
	c.reach(where, "string", index, len(c.dictionary.GetStringTable()))
}

func (c *check) string(index int32) string {
	table := c.dictionary.GetStringTable()
	if index < 0 || int(index) >= len(table) {
		return ""
	}
	return table[index]
}

func (c *check) attributes(where string, indices []int32) {
	table := c.dictionary.GetAttributeTable()
	keys := map[int32]bool{}
	for _, index := range indices {
		if index == 0 {
			c.problem("%s has attribute 0", where)
		}
		first := c.reach(where, "attribute", index, len(table))
		if index < 0 || int(index) >= len(table) {
			continue
		}
		attribute := table[index]
		if keys[attribute.GetKeyStrindex()] {
			c.problem("%s has %q twice", where, c.string(attribute.GetKeyStrindex()))
		}
		keys[attribute.GetKeyStrindex()] = true
		if !first {
			continue
		}
		c.reachText(where, attribute.GetKeyStrindex())
		c.reachText(where, attribute.GetUnitStrindex())
		if attribute.GetKeyStrindex() == 0 || attribute.GetValue().GetValue() == nil {
			c.problem("attribute %d has no key or no value", index)
		}
		c.value(where, attribute.GetValue())
	}
}

// value refuses references into the string table: Pyroscope does not resolve them.
func (c *check) value(where string, value *common.AnyValue) {
	if _, found := value.GetValue().(*common.AnyValue_StringValueStrindex); found {
		c.problem("%s has a value by string reference", where)
	}
}

func (c *check) resource(where string, from *profiles.ResourceProfiles) {
	keys := map[string]bool{}
	attributes := from.GetResource().GetAttributes()
	if len(attributes) > resourceAttributesMax {
		c.problem("%s has %d attributes", where, len(attributes))
	}
	for _, attribute := range attributes {
		key := attribute.GetKey()
		if key == "" || attribute.GetKeyStrindex() != 0 {
			c.problem("%s has an attribute without a plain key", where)
		}
		if keys[key] {
			c.problem("%s has %q twice", where, key)
		}
		keys[key] = true
		c.value(where, attribute.GetValue())
		if service := attribute.GetValue().GetStringValue(); key == "service.name" &&
			!slices.Contains(c.Services, service) {
			c.Services = append(c.Services, service)
		}
	}
	for i, scope := range from.GetScopeProfiles() {
		if scope.GetScope().GetName() == "" {
			c.problem("%s, scope %d has no name", where, i)
		}
		for j, profile := range scope.GetProfiles() {
			c.profile(fmt.Sprintf("%s, profile %d", where, j), profile)
		}
	}
}
