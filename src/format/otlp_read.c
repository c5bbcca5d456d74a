/* SPDX-License-Identifier: Apache-2.0 */
/* One OTLP request → a profile: what format_otlp wrote, and what other senders write. */
#include "format/otlp_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/string_table.h"
#include "format/messages.h"
#include "format/otlp_dictionary.h"
#include "format/otlp_tables.h"
#include "profile/profile.h"
#include "spans/spans.h"

/* A message of two bytes takes some hundred once unpacked; ordinary requests stay below 20. */
#define ARENA_BYTES_PER_BYTE 64
#define ARENA_BYTES_MAX	     ((size_t)2 << 30)
#define ATTRIBUTES_MAX	     64
/* One more than a profile keeps of a stack, so that it notices the cut. */
#define DEPTH_MAX 1025
/* Larger values than this are no counts of samples and no nanoseconds of a profile. */
#define VALUE_MAX (INT64_C(1) << 53)

static const struct profile_config config_of_file = {
	.samples_max = (size_t)4 << 20,
	.strings_bytes_max = (size_t)256 << 20,
	.spans_max = (size_t)1 << 20,
};

/* One OTLP Profile on its way into a profile of its own. */
struct part {
	const struct otlp_tables *tables;
	struct profile *profile;
	uint32_t resource;
	uint64_t period_ns;
};

static int open_profile(uint64_t period_ns, uint64_t start_wall_ns, struct profile **out)
{
	struct profile_config config = config_of_file;

	config.period_ns = period_ns;
	return profile_open(&config, start_wall_ns, out);
}

/* False when the attribute is of a kind that a resource of ours cannot hold. */
static bool read_attribute(const struct otlp_tables *t, const Otlp__KeyValue *m, char number[32],
			   struct resource_attribute *out)
{
	const Otlp__AnyValue *value = m->value;

	*out = (struct resource_attribute){.key = m->key[0] ? m->key
							    : otlp_tables_text(t, m->key_strindex)};
	if (!value || !out->key[0])
		return false;
	switch (value->value_case) {
	case OTLP__ANY_VALUE__VALUE_STRING_VALUE:
	case OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX:
		out->value = otlp_tables_value_text(t, value);
		return true;
	case OTLP__ANY_VALUE__VALUE_BOOL_VALUE:
		out->value = value->bool_value ? "true" : "false";
		return true;
	case OTLP__ANY_VALUE__VALUE_INT_VALUE:
		out->number = value->int_value;
		out->is_integer = true;
		return true;
	case OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE:
		snprintf(number, 32, "%.17g", value->double_value);
		out->value = number;
		return true;
	default:
		return false;
	}
}

static int read_resource(struct part *part, const Otlp__Resource *m)
{
	struct resource_attribute attributes[ATTRIBUTES_MAX];
	char numbers[ATTRIBUTES_MAX][32];
	const struct otlp_tables *t = part->tables;
	size_t count = 0;

	for (size_t i = 0; m && i < m->n_attributes && count < ATTRIBUTES_MAX; i++) {
		const Otlp__KeyValue *from = m->attributes[i];
		int err = otlp_tables_check(t, "string", from->key_strindex,
					    t->dictionary->n_string_table);

		if (!err)
			err = otlp_tables_check_value(t, from->value);
		if (err)
			return err;
		if (read_attribute(t, from, numbers[count], &attributes[count]))
			count++;
	}
	part->resource = profile_add_resource(part->profile, attributes, count);
	return 0;
}

/* Values may come one per timestamp, or timestamps alone, each worth one. */
static int read_count(const struct part *part, const Otlp__Sample *m, uint64_t *count)
{
	*count = m->n_values ? 0 : m->n_timestamps_unix_nano;
	for (size_t i = 0; i < m->n_values; i++) {
		if (m->values[i] < 0 || m->values[i] > VALUE_MAX)
			return otlp_tables_fail(part->tables, "a sample has the value %lld",
						(long long)m->values[i]);
		*count += (uint64_t)m->values[i];
	}
	return 0;
}

/* Links name no span; our own files add name and flag as attributes of the sample. */
static uint32_t read_span(const struct part *part, const Otlp__Sample *m, uint64_t count)
{
	const struct otlp_tables *t = part->tables;
	const Otlp__Link *link = t->dictionary->link_table[m->link_index];
	const Otlp__AnyValue *sampled = otlp_tables_find(
		t, m->attribute_indices, m->n_attribute_indices, otlp_words[OTLP_SPAN_SAMPLED]);
	const Otlp__AnyValue *name = otlp_tables_find(
		t, m->attribute_indices, m->n_attribute_indices, otlp_words[OTLP_SPAN_NAME]);
	struct span span = {.resource = part->resource, .samples = count, .sampled = true};

	memcpy(span.trace_id, link->trace_id.data, sizeof(span.trace_id));
	memcpy(span.span_id, link->span_id.data, sizeof(span.span_id));
	if (__builtin_mul_overflow(count, part->period_ns, &span.value_ns))
		span.value_ns = UINT64_MAX;
	if (sampled && sampled->value_case == OTLP__ANY_VALUE__VALUE_BOOL_VALUE)
		span.sampled = sampled->bool_value;
	return spans_absorb(profile_get_spans(part->profile), &span,
			    otlp_tables_value_text(t, name));
}

static int read_sample(const struct part *part, const Otlp__Sample *m)
{
	const struct location *locations[DEPTH_MAX];
	struct sample_input sample = {.locations = locations, .resource = part->resource};
	const struct otlp_tables *t = part->tables;
	const Otlp__AnyValue *truncated;
	int err;

	err = otlp_tables_check(t, "stack", m->stack_index, t->dictionary->n_stack_table);
	if (!err)
		err = otlp_tables_check(t, "link", m->link_index, t->dictionary->n_link_table);
	if (!err)
		err = otlp_tables_check_attributes(t, m->attribute_indices, m->n_attribute_indices);
	if (!err)
		err = read_count(part, m, &sample.count);
	if (err || !sample.count)
		return err;
	if (m->stack_index) {
		const Otlp__Stack *stack = t->dictionary->stack_table[m->stack_index];

		for (size_t i = 0; i < stack->n_location_indices; i++) {
			if (sample.location_count == DEPTH_MAX)
				break;
			if (stack->location_indices[i])
				locations[sample.location_count++] =
					t->locations[stack->location_indices[i]];
		}
	}
	truncated = otlp_tables_find(t, m->attribute_indices, m->n_attribute_indices,
				     otlp_words[OTLP_STACK_TRUNCATED]);
	sample.truncated = truncated &&
			   truncated->value_case == OTLP__ANY_VALUE__VALUE_BOOL_VALUE &&
			   truncated->bool_value;
	if (m->link_index)
		sample.span = read_span(part, m, sample.count);
	err = profile_add(part->profile, &sample);
	return err == -ENOSPC ? 0 : err; /* counted in the profile's `dropped` */
}

static bool is_type(const struct otlp_tables *t, const Otlp__ValueType *m, enum otlp_word type,
		    enum otlp_word unit)
{
	return m && !strcmp(otlp_tables_text(t, m->type_strindex), otlp_words[type]) &&
	       !strcmp(otlp_tables_text(t, m->unit_strindex), otlp_words[unit]);
}

static int check_type(const struct otlp_tables *t, const Otlp__ValueType *m)
{
	int err = 0;

	if (m)
		err = otlp_tables_check(t, "string", m->type_strindex,
					t->dictionary->n_string_table);
	if (m && !err)
		err = otlp_tables_check(t, "string", m->unit_strindex,
					t->dictionary->n_string_table);
	return err;
}

/*
 * What one unit of the profile's values is worth in CPU time: samples/count are worth a period,
 * cpu/nanoseconds one nanosecond. 0: no profile of CPU samples, left out.
 */
static int read_worth(const struct otlp_tables *t, const Otlp__Profile *m, uint64_t *worth_ns)
{
	int err = check_type(t, m->sample_type);

	*worth_ns = 0;
	if (!err)
		err = check_type(t, m->period_type);
	if (err)
		return err;
	if (is_type(t, m->sample_type, OTLP_CPU, OTLP_NANOSECONDS)) {
		*worth_ns = 1;
	} else if (is_type(t, m->sample_type, OTLP_SAMPLES, OTLP_COUNT)) {
		if (m->period <= 0 || m->period > VALUE_MAX)
			return otlp_tables_fail(t, "a profile of samples has the period %lld",
						(long long)m->period);
		*worth_ns = (uint64_t)m->period;
	}
	return 0;
}

static int read_profile(struct otlp_reader *r, const struct otlp_tables *t,
			const Otlp__Resource *from, const Otlp__Profile *m)
{
	struct part part = {.tables = t};
	uint64_t end_ns;
	int err = read_worth(t, m, &part.period_ns);

	if (err || !part.period_ns)
		return err;
	if (!r->out) {
		bool has_period = m->period > 0 && m->period <= VALUE_MAX;

		err = open_profile(has_period ? (uint64_t)m->period : 1, 0, &r->out);
		if (err)
			return err;
	}
	err = open_profile(part.period_ns, m->time_unix_nano, &part.profile);
	if (err)
		return err;
	err = read_resource(&part, from);
	for (size_t i = 0; !err && i < m->n_samples; i++)
		err = read_sample(&part, m->samples[i]);
	if (__builtin_add_overflow(m->time_unix_nano, m->duration_nano, &end_ns))
		end_ns = m->time_unix_nano;
	profile_set_end(part.profile, end_ns);
	if (!err)
		err = profile_merge(r->out, part.profile);
	profile_close(part.profile);
	return err;
}

static int read_resources(struct otlp_reader *r, const struct otlp_tables *t,
			  const Otlp__Request *m)
{
	int err = 0;

	for (size_t i = 0; i < m->n_resource_profiles; i++) {
		const Otlp__ResourceProfiles *from = m->resource_profiles[i];

		for (size_t j = 0; j < from->n_scope_profiles; j++) {
			const Otlp__ScopeProfiles *scope = from->scope_profiles[j];

			for (size_t k = 0; !err && k < scope->n_profiles; k++)
				err = read_profile(r, t, from->resource, scope->profiles[k]);
		}
	}
	return err;
}

static void *allocate(void *arena, size_t size)
{
	return arena_take(arena, size);
}

/* protobuf-c frees what it built when it fails; the arena goes at once later. */
static void keep(void *arena, void *memory)
{
}

int otlp_read_request(struct otlp_reader *r, const uint8_t *data, size_t size)
{
	size_t cap = size < ARENA_BYTES_MAX / ARENA_BYTES_PER_BYTE ? size * ARENA_BYTES_PER_BYTE
								   : ARENA_BYTES_MAX;
	struct otlp_tables tables = {.why = r->why, .why_size = r->why_size};
	struct arena arena;
	ProtobufCAllocator allocator = {allocate, keep, &arena};
	Otlp__Request *m;
	int err;

	arena_open(&arena, cap + 4096);
	m = otlp__request__unpack(&allocator, size, data);
	if (!m && arena.failed)
		err = -ENOMEM;
	else if (!m)
		err = otlp_tables_fail(&tables, "not an OTLP profiles request");
	else
		err = otlp_tables_open(&tables, &arena, m->dictionary, r->why, r->why_size);
	if (!err)
		err = read_resources(r, &tables, m);
	arena_close(&arena);
	return err;
}
