// SPDX-License-Identifier: Apache-2.0
// The checks of one profile, its samples and what their stacks are made of.

package main

import (
	"bytes"
	"fmt"

	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

func (c *check) profile(where string, profile *profiles.Profile) {
	c.Profiles++
	if len(profile.GetProfileId()) != 16 || bytes.Equal(profile.GetProfileId(), make([]byte, 16)) {
		c.problem("%s has the ID %x", where, profile.GetProfileId())
	}
	if profile.GetTimeUnixNano() == 0 {
		c.problem("%s has no time", where)
	}
	if profile.GetSampleType().GetTypeStrindex() == 0 {
		c.problem("%s has no sample type", where)
	}
	if profile.GetPeriodType().GetTypeStrindex() != 0 && profile.GetPeriod() <= 0 {
		c.problem("%s has the period %d", where, profile.GetPeriod())
	}
	for _, valueType := range []*profiles.ValueType{profile.GetSampleType(), profile.GetPeriodType()} {
		c.reachText(where, valueType.GetTypeStrindex())
		c.reachText(where, valueType.GetUnitStrindex())
	}
	c.attributes(where, profile.GetAttributeIndices())
	c.window(profile)
	c.samples(where, profile)
}

// window widens the request's time to that of the profile.
func (c *check) window(profile *profiles.Profile) {
	start, duration := profile.GetTimeUnixNano(), profile.GetDurationNano()
	if c.TimeUnixNano == 0 {
		c.TimeUnixNano, c.DurationNano = start, duration
		return
	}
	end := max(c.TimeUnixNano+c.DurationNano, start+duration)
	c.TimeUnixNano = min(c.TimeUnixNano, start)
	c.DurationNano = end - c.TimeUnixNano
}

// shape names how a sample carries its values; only three ways are allowed.
func shape(sample *profiles.Sample) (name string, allowed bool) {
	values, times := len(sample.GetValues()), len(sample.GetTimestampsUnixNano())
	switch {
	case values == 1 && times == 0:
		return "one value", true
	case values == 0 && times > 0:
		return "timestamps", true
	case values > 0 && values == times:
		return "a value per timestamp", true
	}
	return fmt.Sprintf("%d values and %d timestamps", values, times), false
}

func (c *check) samples(where string, profile *profiles.Profile) {
	seen := map[string]int{}
	start := profile.GetTimeUnixNano()
	for i, sample := range profile.GetSamples() {
		here := fmt.Sprintf("%s, sample %d", where, i)
		common, _ := shape(profile.GetSamples()[0])
		if is, allowed := shape(sample); is != common || !allowed {
			c.problem("%s has %s", here, is)
		}
		key := fmt.Sprint(sample.GetStackIndex(), sample.GetLinkIndex(), sample.GetAttributeIndices())
		if first, found := seen[key]; found {
			c.problem("%s: the same as sample %d", here, first)
		}
		seen[key] = i
		for _, time := range sample.GetTimestampsUnixNano() {
			if time < start || time >= start+profile.GetDurationNano() {
				c.problem("%s: %d is outside the window", here, time)
			}
		}
		c.sample(here, profile, sample)
	}
}

// isOffCPU tells whether a profile's values are nanoseconds on no CPU, not samples of CPU time.
func isOffCPU(d *profiles.ProfilesDictionary, profile *profiles.Profile) bool {
	table, kind := d.GetStringTable(), profile.GetSampleType()
	return int(kind.GetTypeStrindex()) < len(table) && kind.GetTypeStrindex() >= 0 &&
		table[kind.GetTypeStrindex()] == "off_cpu"
}

func (c *check) sample(where string, profile *profiles.Profile, sample *profiles.Sample) {
	c.Samples++
	sum := int64(0)
	for _, value := range sample.GetValues() {
		if value <= 0 {
			c.problem("%s has the value %d", where, value)
		}
		sum += value
	}
	if isOffCPU(c.dictionary, profile) {
		c.OffCPUNanos += sum
	} else {
		c.Values += sum
		c.CPUNanos += sum * profile.GetPeriod()
		if sample.GetLinkIndex() != 0 {
			c.LinkedValues += sum
		}
	}
	c.attributes(where, sample.GetAttributeIndices())
	if c.reach(where, "link", sample.GetLinkIndex(), len(c.dictionary.GetLinkTable())) {
		c.link(sample.GetLinkIndex())
	}
	if c.reach(where, "stack", sample.GetStackIndex(), len(c.dictionary.GetStackTable())) {
		c.stack(sample.GetStackIndex())
	}
}

func (c *check) link(index int32) {
	link := c.dictionary.GetLinkTable()[index]
	if len(link.GetTraceId()) != 16 || bytes.Equal(link.GetTraceId(), make([]byte, 16)) {
		c.problem("link %d has the trace ID %x", index, link.GetTraceId())
	}
	if len(link.GetSpanId()) != 8 || bytes.Equal(link.GetSpanId(), make([]byte, 8)) {
		c.problem("link %d has the span ID %x", index, link.GetSpanId())
	}
}

func (c *check) stack(index int32) {
	where := fmt.Sprintf("stack %d", index)
	stack := c.dictionary.GetStackTable()[index]
	if len(stack.GetLocationIndices()) == 0 {
		c.problem("%s is empty", where)
	}
	for _, location := range stack.GetLocationIndices() {
		if location == 0 {
			c.problem("%s has location 0", where)
		}
		if c.reach(where, "location", location, len(c.dictionary.GetLocationTable())) {
			c.location(location)
		}
	}
}

func (c *check) location(index int32) {
	where := fmt.Sprintf("location %d", index)
	location := c.dictionary.GetLocationTable()[index]
	c.attributes(where, location.GetAttributeIndices())
	if c.reach(where, "mapping", location.GetMappingIndex(), len(c.dictionary.GetMappingTable())) {
		c.mapping(location.GetMappingIndex())
	}
	for _, line := range location.GetLines() {
		if line.GetFunctionIndex() == 0 {
			c.problem("%s has a line without a function", where)
		}
		if c.reach(where, "function", line.GetFunctionIndex(), len(c.dictionary.GetFunctionTable())) {
			function := c.dictionary.GetFunctionTable()[line.GetFunctionIndex()]
			c.reachText(where, function.GetNameStrindex())
			c.reachText(where, function.GetSystemNameStrindex())
			c.reachText(where, function.GetFilenameStrindex())
		}
	}
}

func (c *check) mapping(index int32) {
	where := fmt.Sprintf("mapping %d", index)
	mapping := c.dictionary.GetMappingTable()[index]
	start, limit := mapping.GetMemoryStart(), mapping.GetMemoryLimit()
	if start >= limit && (start != 0 || limit != 0) {
		c.problem("%s: %#x to %#x", where, start, limit)
	}
	c.reachText(where, mapping.GetFilenameStrindex())
	c.attributes(where, mapping.GetAttributeIndices())
}
