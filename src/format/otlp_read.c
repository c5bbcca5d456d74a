/* SPDX-License-Identifier: Apache-2.0 */
/* One OTLP request → a profile: what format_otlp wrote, and what other senders write. */
#include "format/otlp_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/string_table.h"
#include "format/messages.h"
#include "format/otlp_dictionary.h"
#include "format/otlp_read_span.h"
#include "format/otlp_tables.h"
#include "format/reading.h"
#include "profile/profile.h"
#include "spans/spans.h"

#define ARENA_BYTES_MAX ((size_t)2 << 30)
#define ATTRIBUTES_MAX	64
/* A longer period than this, a hundred days, is none. */
#define PERIOD_NS_MAX (INT64_C(1) << 53)

/* How the handle of a stack is kept in the tables: 0 is one not met yet. */
#define STACK_LOST UINT32_MAX

/* What the samples of one ResourceProfiles share. */
struct part {
	struct otlp_reader *reader;
	struct otlp_tables *tables;
	bool has_resource;
	uint32_t resource;
	uint64_t worth_ns; /* of the OTLP Profile being read */
	bool off_cpu;	   /* that: it is no CPU time */
};

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
	struct otlp_tables *t = part->tables;
	size_t count = 0;

	for (size_t i = 0; m && i < m->n_attributes && count < ATTRIBUTES_MAX; i++) {
		const Otlp__KeyValue *from = m->attributes[i];
		struct resource_attribute *to = &attributes[count];
		int err = otlp_tables_check(t, "string", from->key_strindex,
					    t->dictionary->n_string_table);

		if (!err)
			err = otlp_tables_check_value(t, from->value);
		if (!err && !read_attribute(t, from, numbers[count], to))
			continue;
		if (!err)
			err = reading_spend(t->reading, to->key);
		if (!err && !to->is_integer)
			err = reading_spend(t->reading, to->value);
		if (err)
			return err;
		count++;
	}
	part->resource = profile_add_resource(part->reader->out, attributes, count);
	part->has_resource = true;
	return 0;
}

/* Values may come one per timestamp, or timestamps alone, each worth one. */
static int read_count(const struct part *part, const Otlp__Sample *m, uint64_t *count)
{
	*count = m->n_values ? 0 : m->n_timestamps_unix_nano;
	for (size_t i = 0; i < m->n_values; i++) {
		if (m->values[i] < 0 ||
		    __builtin_add_overflow(*count, (uint64_t)m->values[i], count))
			return reading_fail(part->reader->reading, "a sample has the value %lld",
					    (long long)m->values[i]);
	}
	return 0;
}

static int read_span(const struct part *part, const Otlp__Sample *m, struct sample_input *sample)
{
	struct span span;
	const char *name;
	int err = otlp_read_span(part->tables, m, &span, &name);

	if (err)
		return err;
	span.resource = part->resource;
	span.samples = part->off_cpu ? 0 : sample->count;
	if (__builtin_mul_overflow(span.samples, part->reader->period_ns, &span.value_ns))
		span.value_ns = UINT64_MAX;
	sample->span = spans_absorb(profile_get_spans(part->reader->out), &span, name);
	if (!sample->span)
		sample->span = PROFILE_SPAN_LOST;
	return 0;
}

/* Walks a stack when it is met first; any number of samples may name it. */
static int read_stack(const struct part *part, uint32_t index, struct sample_input *sample,
		      uint32_t *stack)
{
	const struct location *locations[READING_DEPTH_MAX];
	const struct otlp_tables *t = part->tables;
	uint32_t *known = &t->stacks[index][sample->truncated];
	int err = 0;

	if (!*known) {
		const Otlp__Stack *from = index ? t->dictionary->stack_table[index] : NULL;

		for (size_t i = 0; from && i < from->n_location_indices; i++)
			locations[sample->location_count++] =
				t->locations[from->location_indices[i]];
		sample->locations = locations;
		err = profile_add_stack(part->reader->out, sample, stack);
		if (err && err != -ENOSPC)
			return err;
		*known = err ? STACK_LOST : *stack + 1;
	}
	*stack = *known - 1;
	return *known == STACK_LOST ? -ENOSPC : 0;
}

/* `err` is that of its stack. The leaf says what kind of waiting it is. */
static int add_wait(const struct part *part, const Otlp__Sample *m,
		    const struct sample_input *sample, uint32_t stack, int err)
{
	const struct otlp_tables *t = part->tables;
	const Otlp__Stack *from =
		m->stack_index ? t->dictionary->stack_table[m->stack_index] : NULL;
	const struct location *leaf =
		from && from->n_location_indices ? t->locations[from->location_indices[0]] : NULL;
	const char *state = leaf && leaf->frame_count ? leaf->frames[0].function : "";

	if (!err)
		return profile_add_wait_to_stack(part->reader->out, sample, stack,
						 profile_wait_kind_of(state), sample->count);
	if (err == -ENOSPC)
		profile_drop_wait(part->reader->out, sample->count);
	return err;
}

static int check_sample(const struct otlp_tables *t, const Otlp__Sample *m)
{
	int err = otlp_tables_check(t, "stack", m->stack_index, t->dictionary->n_stack_table);

	if (!err)
		err = otlp_tables_check(t, "link", m->link_index, t->dictionary->n_link_table);
	if (!err)
		err = otlp_tables_check_attributes(t, m->attribute_indices, m->n_attribute_indices);
	return err;
}

static int read_sample(const struct part *part, const Otlp__Sample *m)
{
	struct sample_input sample = {.resource = part->resource};
	const struct otlp_tables *t = part->tables;
	struct otlp_reader *r = part->reader;
	const Otlp__AnyValue *truncated;
	uint32_t stack;
	int err = check_sample(t, m);

	if (!err)
		err = read_count(part, m, &sample.count);
	if (err)
		return err;
	if (!part->off_cpu)
		sample.count =
			profile_scale(sample.count, part->worth_ns, r->period_ns, &r->carry_ns);
	err = reading_spend_worth(r->reading, part->off_cpu ? 0 : sample.count,
				  part->off_cpu ? sample.count : 0);
	if (err || !sample.count)
		return err;
	truncated = otlp_tables_find(t, m->attribute_indices, m->n_attribute_indices,
				     otlp_words[OTLP_STACK_TRUNCATED]);
	sample.truncated = truncated &&
			   truncated->value_case == OTLP__ANY_VALUE__VALUE_BOOL_VALUE &&
			   truncated->bool_value;
	if (m->link_index)
		err = read_span(part, m, &sample);
	if (err)
		return err;
	err = read_stack(part, (uint32_t)m->stack_index, &sample, &stack);
	if (part->off_cpu)
		err = add_wait(part, m, &sample, stack, err);
	else if (err == -ENOSPC)
		profile_drop(r->out, sample.count);
	else if (!err)
		err = profile_add_to_stack(r->out, &sample, stack);
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
 * What one unit of the profile's values is worth: samples/count are worth a period, cpu and off_cpu
 * in nanoseconds one nanosecond. 0: neither, left out.
 */
static int read_worth(struct part *part, const Otlp__Profile *m)
{
	const struct otlp_tables *t = part->tables;
	int err = check_type(t, m->sample_type);

	part->worth_ns = 0;
	part->off_cpu = false;
	if (!err)
		err = check_type(t, m->period_type);
	if (err)
		return err;
	part->off_cpu = is_type(t, m->sample_type, OTLP_OFF_CPU, OTLP_NANOSECONDS);
	if (part->off_cpu || is_type(t, m->sample_type, OTLP_CPU, OTLP_NANOSECONDS)) {
		part->worth_ns = 1;
	} else if (is_type(t, m->sample_type, OTLP_SAMPLES, OTLP_COUNT)) {
		if (m->period <= 0 || m->period > PERIOD_NS_MAX)
			return reading_fail(t->reading, "a profile of samples has the period %lld",
					    (long long)m->period);
		part->worth_ns = (uint64_t)m->period;
	}
	return 0;
}

/* Of CPU time or, when that is asked for, between looks at what is on no CPU. 0: it has none. */
static uint64_t period_of(const struct otlp_tables *t, const Otlp__Profile *m, bool off_cpu)
{
	bool has = m->period > 0 && m->period <= PERIOD_NS_MAX && !check_type(t, m->sample_type) &&
		   is_type(t, m->sample_type, OTLP_OFF_CPU, OTLP_NANOSECONDS) == off_cpu;

	return has ? (uint64_t)m->period : 0;
}

/* Everything goes into one profile, whose period is that of the first that has one. */
static int open_profile(struct otlp_reader *r, const struct otlp_tables *t,
			const Otlp__Profile *first)
{
	struct profile_config config = reading_config;
	uint64_t period_ns = period_of(t, first, false);

	if (r->out)
		return 0;
	r->period_ns = period_ns ? period_ns : r->period_hint_ns;
	r->carry_ns = r->period_ns / 2;
	config.period_ns = r->period_ns;
	return profile_open(&config, 0, &r->out);
}

static int read_profile(struct part *part, const Otlp__Resource *resource, const Otlp__Profile *m)
{
	uint64_t end_ns, interval_ns;
	int err = read_worth(part, m);

	if (err || !part->worth_ns)
		return err;
	err = open_profile(part->reader, part->tables, m);
	/* Once for all profiles of the resource, of which there may be very many. */
	if (!err && !part->has_resource)
		err = read_resource(part, resource);
	for (size_t i = 0; !err && i < m->n_samples; i++)
		err = read_sample(part, m->samples[i]);
	if (err)
		return err;
	if (__builtin_add_overflow(m->time_unix_nano, m->duration_nano, &end_ns))
		end_ns = m->time_unix_nano;
	profile_cover(part->reader->out, m->time_unix_nano, end_ns);
	interval_ns = period_of(part->tables, m, true);
	if (interval_ns > part->reader->look_interval_ns) {
		part->reader->look_interval_ns = interval_ns;
		profile_set_look_interval(part->reader->out, interval_ns);
	}
	return 0;
}

/* The first period in the request, 1 when it has none. */
static uint64_t find_period(const struct otlp_tables *t, const Otlp__Request *m)
{
	for (size_t i = 0; i < m->n_resource_profiles; i++)
		for (size_t j = 0; j < m->resource_profiles[i]->n_scope_profiles; j++) {
			const Otlp__ScopeProfiles *s = m->resource_profiles[i]->scope_profiles[j];

			for (size_t k = 0; k < s->n_profiles; k++)
				if (period_of(t, s->profiles[k], false))
					return period_of(t, s->profiles[k], false);
		}
	return 1;
}

static int read_resources(struct otlp_reader *r, struct otlp_tables *t, const Otlp__Request *m)
{
	int err = 0;

	r->period_hint_ns = find_period(t, m);
	if (r->out)
		profile_forget_locations(r->out); /* their ids are indices in one dictionary */
	for (size_t i = 0; !err && i < m->n_resource_profiles; i++) {
		const Otlp__ResourceProfiles *from = m->resource_profiles[i];
		struct part part = {.reader = r, .tables = t};

		for (size_t j = 0; !err && j < from->n_scope_profiles; j++) {
			const Otlp__ScopeProfiles *scope = from->scope_profiles[j];

			for (size_t k = 0; !err && k < scope->n_profiles; k++)
				err = read_profile(&part, from->resource, scope->profiles[k]);
		}
	}
	return err;
}

int otlp_read_request(struct otlp_reader *r, const uint8_t *data, size_t size)
{
	struct otlp_tables tables = {.reading = r->reading};
	struct arena arena;
	ProtobufCAllocator allocator = reading_allocator(&arena);
	Otlp__Request *m;
	int err;

	reading_open_arena(&arena, size, ARENA_BYTES_MAX);
	m = otlp__request__unpack(&allocator, size, data);
	if (!m && arena.failed)
		err = -ENOMEM;
	else if (!m)
		err = reading_fail(r->reading, "not an OTLP profiles request");
	else
		err = otlp_tables_open(&tables, &arena, m->dictionary);
	if (!err)
		err = read_resources(r, &tables, m);
	arena_close(&arena);
	return err;
}
