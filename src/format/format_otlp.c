/* SPDX-License-Identifier: Apache-2.0 */
/* format: profile ⇄ bytes. Here: a profile as OTLP requests, built in an arena, then packed. */
#include "format/format.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "format/messages.h"
#include "format/otlp_dictionary.h"
#include "format/otlp_samples.h"
#include "spans/spans.h"

/* What reaches a backend becomes labels; Pyroscope allows 30 and every one multiplies series. */
#define RESOURCE_ATTRIBUTES_MAX 12
/* Messages of one request: some ten times its packed size. */
#define ARENA_BYTES_MAX ((size_t)1 << 30)

struct encoder {
	struct arena *arena;
	const struct profile *profile;
	const struct format_otlp_options *options;
	struct profile_view view;
	struct otlp_dictionary *dictionary;
};

static const char *text(const struct encoder *e, uint32_t id)
{
	return string_table_get(profile_get_strings(e->profile), id);
}

static Otlp__KeyValue *new_attribute(struct encoder *e, const struct profile_attribute *row)
{
	Otlp__KeyValue *m = NEW_MESSAGE(e->arena, Otlp__KeyValue, OTLP__KEY_VALUE__INIT);
	Otlp__AnyValue *value = NEW_MESSAGE(e->arena, Otlp__AnyValue, OTLP__ANY_VALUE__INIT);

	if (!m || !value)
		return NULL;
	m->key = (char *)text(e, row->key);
	m->value = value;
	if (row->is_integer) {
		value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
		value->int_value = row->number;
	} else {
		value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
		value->string_value = (char *)text(e, row->value);
	}
	return m;
}

static bool is_repeated(const struct profile_attribute *rows, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (rows[i].key == rows[at].key)
			return true;
	return false;
}

/* The service's name first: it must never be the attribute that the cap cuts off. */
static Otlp__Resource *new_resource(struct encoder *e, uint32_t handle)
{
	Otlp__Resource *m = NEW_MESSAGE(e->arena, Otlp__Resource, OTLP__RESOURCE__INIT);
	const struct profile_resource *row = &e->view.resources[handle];
	const struct profile_attribute *rows = &e->view.attributes[row->first_attribute];
	struct pointer_list attributes = {0};

	if (!m)
		return NULL;
	for (int rest = 0; rest < 2; rest++)
		for (uint32_t i = 0; i < row->attribute_count; i++) {
			bool is_service = !strcmp(text(e, rows[i].key), "service.name");

			if (rows[i].key && is_service == !rest && !is_repeated(rows, i) &&
			    attributes.count < RESOURCE_ATTRIBUTES_MAX)
				pointer_list_add(e->arena, &attributes, new_attribute(e, &rows[i]));
		}
	m->attributes = (Otlp__KeyValue **)attributes.items;
	m->n_attributes = attributes.count;
	return m;
}

static void add_sample_attributes(struct encoder *e, const struct otlp_sample *from,
				  Otlp__Sample *m)
{
	const struct span *span = spans_get(profile_get_spans(e->profile), from->span);

	const int32_t *times = otlp_dictionary_span_times(e->dictionary, from->span);

	m->attribute_indices =
		arena_take_array(e->arena, 3 + OTLP_SPAN_TIMES_MAX, sizeof(*m->attribute_indices));
	if (!m->attribute_indices)
		return;
	if (span && span->name)
		m->attribute_indices[m->n_attribute_indices++] =
			otlp_dictionary_span_name(e->dictionary, span->name);
	if (span && !span->sampled)
		m->attribute_indices[m->n_attribute_indices++] =
			otlp_dictionary_unsampled(e->dictionary);
	while (*times)
		m->attribute_indices[m->n_attribute_indices++] = *times++;
	if (from->truncated)
		m->attribute_indices[m->n_attribute_indices++] =
			otlp_dictionary_truncated(e->dictionary);
}

static Otlp__Sample *new_sample(struct encoder *e, const struct otlp_sample *from)
{
	Otlp__Sample *m = NEW_MESSAGE(e->arena, Otlp__Sample, OTLP__SAMPLE__INIT);

	if (!m)
		return NULL;
	m->stack_index = otlp_dictionary_stack(e->dictionary, from->stack);
	m->link_index = otlp_dictionary_link(e->dictionary, from->span);
	if (e->options->span_names)
		add_sample_attributes(e, from, m);
	m->values = arena_take_array(e->arena, 1, sizeof(*m->values));
	if (!m->values)
		return NULL;
	m->n_values = 1;
	m->values[0] = from->count < INT64_MAX ? (int64_t)from->count : INT64_MAX;
	return m;
}

static Otlp__ValueType *new_type(struct encoder *e, enum otlp_word type, enum otlp_word unit)
{
	Otlp__ValueType *m = NEW_MESSAGE(e->arena, Otlp__ValueType, OTLP__VALUE_TYPE__INIT);

	if (m) {
		m->type_strindex = otlp_dictionary_word(e->dictionary, type);
		m->unit_strindex = otlp_dictionary_word(e->dictionary, unit);
	}
	return m;
}

/*
 * samples/count with a period of cpu/nanoseconds: backends multiply the two into CPU time. What is
 * on no CPU is time itself; only files say how often it was looked for.
 */
static void set_types(struct encoder *e, Otlp__Profile *m, bool off_cpu)
{
	if (off_cpu) {
		m->sample_type = new_type(e, OTLP_OFF_CPU, OTLP_NANOSECONDS);
		if (e->options->span_names && e->view.look_interval_ns) {
			m->period_type = new_type(e, OTLP_OFF_CPU, OTLP_NANOSECONDS);
			m->period = (int64_t)e->view.look_interval_ns;
		}
		return;
	}
	m->sample_type = new_type(e, OTLP_SAMPLES, OTLP_COUNT);
	m->period_type = new_type(e, OTLP_CPU, OTLP_NANOSECONDS);
	m->period = (int64_t)e->view.period_ns;
}

static int fill_profile(struct encoder *e, Otlp__Profile *m, const struct otlp_sample *samples,
			size_t count)
{
	struct pointer_list list = {0};

	set_types(e, m, count && samples->off_cpu);
	m->time_unix_nano = e->view.start_wall_ns;
	m->duration_nano = e->view.duration_ns;
	m->profile_id.len = 16;
	m->profile_id.data = arena_take(e->arena, m->profile_id.len);
	for (size_t i = 0; i < count; i++)
		pointer_list_add(e->arena, &list, new_sample(e, &samples[i]));
	m->samples = (Otlp__Sample **)list.items;
	m->n_samples = list.count;
	if (e->arena->failed)
		return -ENOMEM;
	return getrandom(m->profile_id.data, m->profile_id.len, 0) == 16 ? 0 : -EIO;
}

/* Samples of one kind; with none, an empty profile of CPU time. */
static int add_profile(struct encoder *e, struct pointer_list *list,
		       const struct otlp_sample *samples, size_t count)
{
	Otlp__Profile *profile = NEW_MESSAGE(e->arena, Otlp__Profile, OTLP__PROFILE__INIT);
	int err = profile ? fill_profile(e, profile, samples, count) : -ENOMEM;

	pointer_list_add(e->arena, list, profile);
	return err;
}

/* `samples` are those of one resource, those on a CPU first. */
static int add_resource(struct encoder *e, struct pointer_list *list, uint32_t resource,
			const struct otlp_sample *samples, size_t count)
{
	Otlp__ResourceProfiles *m =
		NEW_MESSAGE(e->arena, Otlp__ResourceProfiles, OTLP__RESOURCE_PROFILES__INIT);
	Otlp__ScopeProfiles *scope =
		NEW_MESSAGE(e->arena, Otlp__ScopeProfiles, OTLP__SCOPE_PROFILES__INIT);
	struct pointer_list scopes = {0}, profiles = {0};
	size_t on_cpu = 0;
	int err = 0;

	if (!m || !scope)
		return -ENOMEM;
	scope->scope = NEW_MESSAGE(e->arena, Otlp__Scope, OTLP__SCOPE__INIT);
	if (!scope->scope)
		return -ENOMEM;
	scope->scope->name = (char *)"spanprof";
	if (e->options->agent_version)
		scope->scope->version = (char *)e->options->agent_version;
	while (on_cpu < count && !samples[on_cpu].off_cpu)
		on_cpu++;
	if (on_cpu || !count)
		err = add_profile(e, &profiles, samples, on_cpu);
	if (!err && on_cpu < count)
		err = add_profile(e, &profiles, samples + on_cpu, count - on_cpu);
	if (err)
		return err;
	scope->profiles = (Otlp__Profile **)profiles.items;
	scope->n_profiles = profiles.count;
	pointer_list_add(e->arena, &scopes, scope);
	m->scope_profiles = (Otlp__ScopeProfiles **)scopes.items;
	m->n_scope_profiles = scopes.count;
	m->resource = new_resource(e, resource);
	pointer_list_add(e->arena, list, m);
	return e->arena->failed ? -ENOMEM : 0;
}

static int build(struct encoder *e, const struct otlp_sample *samples, size_t count,
		 Otlp__Request *m)
{
	struct pointer_list resources = {0};
	size_t first = 0;
	int err = 0;

	e->dictionary = otlp_dictionary_new(e->arena, e->profile);
	if (!e->dictionary)
		return -ENOMEM;
	do {
		size_t end = first;

		while (end < count && samples[end].resource == samples[first].resource)
			end++;
		err = add_resource(e, &resources, count ? samples[first].resource : 0,
				   samples + first, end - first);
		first = end;
	} while (!err && first < count);
	if (err)
		return err;
	m->dictionary = otlp_dictionary_finish(e->dictionary);
	m->resource_profiles = (Otlp__ResourceProfiles **)resources.items;
	m->n_resource_profiles = resources.count;
	return m->dictionary ? 0 : -ENOMEM;
}

struct pack_buffer {
	ProtobufCBuffer base;
	struct buffer *out;
};

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *data)
{
	buffer_add(((struct pack_buffer *)base)->out, data, size);
}

/* Encodes these samples behind what `out` holds; -EFBIG, nothing written: over `max_bytes`. */
static int encode(const struct profile *p, const struct format_otlp_options *options,
		  const struct otlp_sample *samples, size_t count, size_t max_bytes,
		  struct buffer *out)
{
	struct pack_buffer pack = {.base = {.append = append}, .out = out};
	struct arena arena;
	struct encoder e = {.arena = &arena, .profile = p, .options = options};
	Otlp__Request request = OTLP__REQUEST__INIT;
	int err;

	arena_open(&arena, ARENA_BYTES_MAX);
	profile_get_view(p, &e.view);
	err = build(&e, samples, count, &request);
	if (!err && otlp__request__get_packed_size(&request) > max_bytes)
		err = -EFBIG;
	if (!err)
		otlp__request__pack_to_buffer(&request, &pack.base);
	if (!err && out->failed)
		err = -ENOMEM;
	otlp_dictionary_close(e.dictionary);
	arena_close(&arena);
	return err;
}

int format_otlp(const struct profile *p, const struct format_otlp_options *options,
		struct buffer *out)
{
	struct otlp_sample *samples;
	struct arena arena;
	size_t count;
	int err;

	arena_open(&arena, ARENA_BYTES_MAX);
	err = otlp_samples_collect(&arena, p, options->span_names, &samples, &count);
	if (!err)
		err = encode(p, options, samples, count, out->cap - out->size, out);
	arena_close(&arena);
	return err;
}

struct splitter {
	const struct profile *profile;
	const struct format_otlp_options *options;
	size_t max_bytes;
	format_otlp_fn each;
	void *context;
	bool left_out;
};

/* Halves what is too large: a handful of rounds, and most profiles need none. */
static int split(struct splitter *s, const struct otlp_sample *samples, size_t count)
{
	struct buffer request;
	uint64_t sum = 0;
	int err;

	buffer_open(&request, s->max_bytes);
	err = encode(s->profile, s->options, samples, count, s->max_bytes, &request);
	if (!err) {
		for (size_t i = 0; i < count; i++)
			sum += samples[i].off_cpu ? 0 : samples[i].count;
		err = s->each(s->context, &request, sum);
	} else if (err == -EFBIG && count > 1) {
		err = split(s, samples, count / 2);
		if (!err)
			err = split(s, samples + count / 2, count - count / 2);
	} else if (err == -EFBIG) {
		s->left_out = true;
		err = 0;
	}
	buffer_close(&request);
	return err;
}

int format_otlp_each(const struct profile *p, const struct format_otlp_options *options,
		     size_t max_bytes, format_otlp_fn each, void *context)
{
	struct splitter s = {p, options, max_bytes, each, context, false};
	struct otlp_sample *samples;
	struct arena arena;
	size_t count;
	int err;

	arena_open(&arena, ARENA_BYTES_MAX);
	err = otlp_samples_collect(&arena, p, options->span_names, &samples, &count);
	if (!err && count)
		err = split(&s, samples, count);
	arena_close(&arena);
	return err ? err : s.left_out ? -EFBIG : 0;
}
