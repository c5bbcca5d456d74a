/* SPDX-License-Identifier: Apache-2.0 */
/* A small OTLP request built by hand, for tests to change one thing of. */
#ifndef TESTS_OTLP_REQUEST_H
#define TESTS_OTLP_REQUEST_H

#include <stdlib.h>
#include <string.h>

#include "otlp_profiles.pb-c.h"

/* A request small enough to vary: one resource, one profile, one sample. */
struct request {
	char *strings[8];
	Otlp__Mapping mapping0, mapping1, *mappings[2];
	Otlp__Location location0, location1, *locations[2];
	Otlp__Function function0, function1, *functions[2];
	Otlp__Line line, *lines[1];
	Otlp__Link link0, link1, *links[2];
	Otlp__Stack stack0, stack1, *stacks[2];
	Otlp__Dictionary dictionary;
	Otlp__ValueType type, period_type;
	Otlp__Sample sample, *samples[1];
	Otlp__Profile profile, *profiles[1];
	Otlp__ScopeProfiles scope, *scopes[1];
	Otlp__AnyValue value;
	Otlp__KeyValue attribute, *attributes[1];
	Otlp__Resource resource;
	Otlp__ResourceProfiles resource_profiles, *resources[1];
	Otlp__Request request;
	int32_t stack_locations[1];
	int64_t values[2];
	uint64_t timestamps[3];
	uint8_t trace_id[16], span_id[8];
};

static inline void init_tables(struct request *r)
{
	static const char *const strings[8] = {"",   "samples",	    "count",   "cpu",
					       "ns", "nanoseconds", "main.\n", "service.name"};

	memcpy(r->strings, strings, sizeof(strings));
	otlp__dictionary__init(&r->dictionary);
	r->dictionary.string_table = r->strings;
	r->dictionary.n_string_table = 8;
#define TABLE(kind, kinds, table)                                                                  \
	do {                                                                                       \
		otlp__##kind##__init(&r->kind##0);                                                 \
		otlp__##kind##__init(&r->kind##1);                                                 \
		r->kinds[0] = &r->kind##0;                                                         \
		r->kinds[1] = &r->kind##1;                                                         \
		r->dictionary.table = r->kinds;                                                    \
		r->dictionary.n_##table = 2;                                                       \
	} while (0)
	TABLE(mapping, mappings, mapping_table);
	TABLE(location, locations, location_table);
	TABLE(function, functions, function_table);
	TABLE(link, links, link_table);
	TABLE(stack, stacks, stack_table);
#undef TABLE
	r->mapping1.memory_limit = 5;
	r->location1.address = 9;
	r->location1.mapping_index = 1;
	otlp__line__init(&r->line);
	r->line.function_index = 1;
	r->line.line = 3;
	r->lines[0] = &r->line;
	r->location1.lines = r->lines;
	r->location1.n_lines = 1;
	r->function1.name_strindex = 6;
	r->link1.trace_id = (ProtobufCBinaryData){sizeof(r->trace_id), r->trace_id};
	r->link1.span_id = (ProtobufCBinaryData){sizeof(r->span_id), r->span_id};
	r->stack_locations[0] = 1;
	r->stack1.location_indices = r->stack_locations;
	r->stack1.n_location_indices = 1;
}

static inline struct request *new_request(void)
{
	struct request *r = calloc(1, sizeof(*r));

	init_tables(r);
	memset(r->trace_id, 1, sizeof(r->trace_id));
	memset(r->span_id, 2, sizeof(r->span_id));
	otlp__value_type__init(&r->type);
	otlp__value_type__init(&r->period_type);
	r->type.type_strindex = 1;
	r->type.unit_strindex = 2;
	r->period_type.type_strindex = 3;
	r->period_type.unit_strindex = 5;
	otlp__sample__init(&r->sample);
	r->sample.stack_index = 1;
	r->sample.link_index = 1;
	r->values[0] = 12;
	r->values[1] = 30;
	r->sample.values = r->values;
	r->sample.n_values = 1;
	r->sample.timestamps_unix_nano = r->timestamps;
	r->samples[0] = &r->sample;
	otlp__profile__init(&r->profile);
	r->profile.samples = r->samples;
	r->profile.n_samples = 1;
	r->profile.sample_type = &r->type;
	r->profile.period_type = &r->period_type;
	r->profile.period = 1000;
	r->profile.time_unix_nano = 50;
	r->profile.duration_nano = 7;
	r->profiles[0] = &r->profile;
	otlp__scope_profiles__init(&r->scope);
	r->scope.profiles = r->profiles;
	r->scope.n_profiles = 1;
	r->scopes[0] = &r->scope;
	otlp__any_value__init(&r->value);
	otlp__key_value__init(&r->attribute);
	r->attribute.value = &r->value;
	r->attributes[0] = &r->attribute;
	otlp__resource__init(&r->resource);
	r->resource.attributes = r->attributes;
	r->resource.n_attributes = 1;
	otlp__resource_profiles__init(&r->resource_profiles);
	r->resource_profiles.resource = &r->resource;
	r->resource_profiles.scope_profiles = r->scopes;
	r->resource_profiles.n_scope_profiles = 1;
	r->resources[0] = &r->resource_profiles;
	otlp__request__init(&r->request);
	r->request.resource_profiles = r->resources;
	r->request.n_resource_profiles = 1;
	r->request.dictionary = &r->dictionary;
	return r;
}

#endif
