/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as pprof's profile.proto, gzip-compressed: rows keep their handles as ids. */
#include "format/format.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/gzip.h"
#include "base/string_table.h"
#include "format/messages.h"
#include "pprof.pb-c.h"
#include "profile/profile.h"
#include "spans/spans.h"

#define ARENA_BYTES_MAX ((size_t)1 << 30)
/* Uncompressed; pprof reads the whole of it into memory. */
#define PACKED_BYTES_MAX ((size_t)512 << 20)
#define VALUES		 3 /* samples, cpu, and off_cpu where anything waited */

struct encoder {
	struct arena *arena;
	const struct profile *profile;
	struct profile_view view;
	struct pointer_list texts; /* the profile's strings under their ids, then our own */
	int64_t trace_id, span_id, span_name, span_sampled, no, service;
	int64_t *trace_id_at, *span_id_at; /* hex strings by span handle, 0 not there yet */
	uint64_t unknown;		   /* location of samples that have none */
};

static int64_t add_text(struct encoder *e, const char *text)
{
	return (int64_t)pointer_list_add(e->arena, &e->texts, (void *)text);
}

static int64_t add_hex(struct encoder *e, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char *text = arena_take(e->arena, 2 * size + 1);

	for (size_t i = 0; text && i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	return text ? add_text(e, text) : 0;
}

/* All strings first and in order: a string id is then its index, and rows need no map. */
static void add_texts(struct encoder *e)
{
	const struct string_table *strings = profile_get_strings(e->profile);
	size_t spans = spans_count(profile_get_spans(e->profile));

	for (uint32_t i = 0; i < string_table_count(strings); i++)
		add_text(e, string_table_get(strings, i));
	e->trace_id = add_text(e, "trace_id");
	e->span_id = add_text(e, "span_id");
	e->span_name = add_text(e, "span_name");
	e->span_sampled = add_text(e, "span_sampled");
	e->no = add_text(e, "false");
	e->service = add_text(e, "service");
	e->trace_id_at = arena_take_array(e->arena, spans + 1, sizeof(*e->trace_id_at));
	e->span_id_at = arena_take_array(e->arena, spans + 1, sizeof(*e->span_id_at));
}

static Pprof__ValueType *new_type(struct encoder *e, const char *type, const char *unit)
{
	Pprof__ValueType *m = NEW_MESSAGE(e->arena, Pprof__ValueType, PPROF__VALUE_TYPE__INIT);

	if (m) {
		m->type = add_text(e, type);
		m->unit = add_text(e, unit);
	}
	return m;
}

/* Row 0 is none. */
static bool has_waits(const struct profile_view *v)
{
	return v->wait_count > 1;
}

static void add_types(struct encoder *e, Pprof__Profile *m)
{
	struct pointer_list types = {0};
	Pprof__ValueType *cpu = new_type(e, "cpu", "nanoseconds");

	pointer_list_add(e->arena, &types, new_type(e, "samples", "count"));
	pointer_list_add(e->arena, &types, cpu);
	if (has_waits(&e->view))
		pointer_list_add(e->arena, &types, new_type(e, "off_cpu", "nanoseconds"));
	m->sample_type = (Pprof__ValueType **)types.items;
	m->n_sample_type = types.count;
	m->period_type = cpu;
	if (cpu)
		m->default_sample_type = cpu->type;
	m->period = (int64_t)e->view.period_ns;
	m->time_nanos = (int64_t)e->view.start_wall_ns;
	m->duration_nanos = (int64_t)e->view.duration_ns;
}

/* Tells pprof what it need not look up in the binary: names, files, lines, inlining. */
static void add_flags(const struct encoder *e, Pprof__Mapping *const *mappings)
{
	const struct profile_view *v = &e->view;

	for (size_t i = 1; i < v->location_count; i++) {
		const struct profile_location *l = &v->locations[i];
		Pprof__Mapping *m;

		if (!l->mapping)
			continue;
		m = mappings[l->mapping - 1];
		m->has_inline_frames |= l->line_count > 1;
		for (uint32_t j = 0; j < l->line_count; j++) {
			const struct profile_line *line = &v->lines[l->first_line + j];

			m->has_functions = true;
			m->has_filenames |= v->functions[line->function].file != 0;
			m->has_line_numbers |= line->line != 0;
		}
	}
}

/* pprof takes the first mapping for the program; a kernel frame may have been seen before it. */
static void put_program_first(const struct encoder *e, Pprof__Mapping **mappings)
{
	const struct profile_view *v = &e->view;
	Pprof__Mapping *program;
	size_t i = 1;

	while (i < v->location_count &&
	       (v->locations[i].kind != FRAME_GO || !v->locations[i].mapping))
		i++;
	if (i == v->location_count)
		return;
	program = mappings[v->locations[i].mapping - 1];
	mappings[v->locations[i].mapping - 1] = mappings[0];
	mappings[0] = program;
}

static void add_mappings(struct encoder *e, Pprof__Profile *m)
{
	struct pointer_list list = {0};

	for (size_t i = 1; i < e->view.mapping_count; i++) {
		const struct profile_mapping *row = &e->view.mappings[i];
		Pprof__Mapping *mapping =
			NEW_MESSAGE(e->arena, Pprof__Mapping, PPROF__MAPPING__INIT);

		if (!mapping)
			return;
		mapping->id = i;
		mapping->memory_start = row->memory_start;
		mapping->memory_limit = row->memory_limit;
		mapping->file_offset = row->file_offset;
		mapping->filename = row->file;
		/* runtime/pprof writes the GNU build ID, or none. */
		mapping->build_id = row->build_id_gnu ? row->build_id_gnu : row->build_id_go;
		pointer_list_add(e->arena, &list, mapping);
	}
	if (e->arena->failed)
		return;
	m->mapping = (Pprof__Mapping **)list.items;
	m->n_mapping = list.count;
	add_flags(e, m->mapping);
	put_program_first(e, m->mapping);
}

static void add_functions(struct encoder *e, Pprof__Profile *m)
{
	struct pointer_list list = {0};

	for (size_t i = 1; i < e->view.function_count; i++) {
		const struct profile_function *row = &e->view.functions[i];
		Pprof__Function *f = NEW_MESSAGE(e->arena, Pprof__Function, PPROF__FUNCTION__INIT);

		if (!f)
			return;
		f->id = i;
		f->name = row->name;
		f->system_name = row->name;
		f->filename = row->file;
		f->start_line = row->start_line;
		pointer_list_add(e->arena, &list, f);
	}
	m->function = (Pprof__Function **)list.items;
	m->n_function = list.count;
}

static void add_locations(struct encoder *e, Pprof__Profile *m)
{
	struct pointer_list list = {0};

	for (size_t i = 1; i < e->view.location_count; i++) {
		const struct profile_location *row = &e->view.locations[i];
		Pprof__Location *l = NEW_MESSAGE(e->arena, Pprof__Location, PPROF__LOCATION__INIT);
		struct pointer_list lines = {0};

		if (!l)
			return;
		l->id = i;
		l->mapping_id = row->mapping;
		l->address = row->address;
		for (uint32_t j = 0; j < row->line_count; j++) {
			const struct profile_line *from = &e->view.lines[row->first_line + j];
			Pprof__Line *line = NEW_MESSAGE(e->arena, Pprof__Line, PPROF__LINE__INIT);

			if (!line)
				return;
			line->function_id = from->function;
			line->line = from->line;
			pointer_list_add(e->arena, &lines, line);
		}
		l->line = (Pprof__Line **)lines.items;
		l->n_line = lines.count;
		pointer_list_add(e->arena, &list, l);
	}
	m->location = (Pprof__Location **)list.items;
	m->n_location = list.count;
}

static bool has_empty_stack(const struct profile_view *v)
{
	for (size_t i = 1; i < v->sample_count; i++)
		if (v->samples[i].count && !v->stacks[v->samples[i].stack].location_count)
			return true;
	for (size_t i = 1; i < v->wait_count; i++)
		if (v->waits[i].ns && !v->stacks[v->waits[i].stack].location_count)
			return true;
	return false;
}

/* pprof's tables leave out what has no location. Behind the profile's own rows. */
static void add_unknown(struct encoder *e, Pprof__Profile *m)
{
	Pprof__Function *f = NEW_MESSAGE(e->arena, Pprof__Function, PPROF__FUNCTION__INIT);
	Pprof__Location *l = NEW_MESSAGE(e->arena, Pprof__Location, PPROF__LOCATION__INIT);
	Pprof__Line *line = NEW_MESSAGE(e->arena, Pprof__Line, PPROF__LINE__INIT);
	struct pointer_list functions = {(void **)m->function, m->n_function, m->n_function};
	struct pointer_list locations = {(void **)m->location, m->n_location, m->n_location};
	struct pointer_list lines = {0};

	if (!f || !l || !line)
		return;
	f->id = line->function_id = m->n_function + 1;
	f->name = f->system_name = add_text(e, "[unknown]");
	l->id = e->unknown = m->n_location + 1;
	pointer_list_add(e->arena, &lines, line);
	pointer_list_add(e->arena, &functions, f);
	pointer_list_add(e->arena, &locations, l);
	l->line = (Pprof__Line **)lines.items;
	l->n_line = lines.count;
	m->function = (Pprof__Function **)functions.items;
	m->n_function = functions.count;
	m->location = (Pprof__Location **)locations.items;
	m->n_location = locations.count;
}

static void add_label(struct encoder *e, struct pointer_list *labels, int64_t key, int64_t value)
{
	Pprof__Label *label = NEW_MESSAGE(e->arena, Pprof__Label, PPROF__LABEL__INIT);

	if (!label)
		return;
	label->key = key;
	label->str = value;
	pointer_list_add(e->arena, labels, label);
}

/* The labels that go tool pprof -tagfocus and Pyroscope look for. */
static void add_labels(struct encoder *e, const struct profile_sample *from, Pprof__Sample *m)
{
	const struct span *span = spans_get(profile_get_spans(e->profile), from->span);
	uint32_t service = profile_get_service(e->profile, from->resource);
	struct pointer_list labels = {0};

	if (span) {
		if (!e->trace_id_at[from->span])
			e->trace_id_at[from->span] =
				add_hex(e, span->trace_id, sizeof(span->trace_id));
		if (!e->span_id_at[from->span])
			e->span_id_at[from->span] =
				add_hex(e, span->span_id, sizeof(span->span_id));
		add_label(e, &labels, e->trace_id, e->trace_id_at[from->span]);
		add_label(e, &labels, e->span_id, e->span_id_at[from->span]);
		if (span->name)
			add_label(e, &labels, e->span_name, span->name);
		if (!span->sampled)
			add_label(e, &labels, e->span_sampled, e->no);
	}
	if (service)
		add_label(e, &labels, e->service, service);
	m->label = (Pprof__Label **)labels.items;
	m->n_label = labels.count;
}

/* pprof has no larger values. */
static int64_t as_value(unsigned __int128 value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

/* Without values: they are all 0. */
static Pprof__Sample *new_sample(struct encoder *e, const struct profile_sample *from)
{
	Pprof__Sample *m = NEW_MESSAGE(e->arena, Pprof__Sample, PPROF__SAMPLE__INIT);
	const struct profile_stack *stack = &e->view.stacks[from->stack];

	if (!m)
		return NULL;
	m->location_id =
		arena_take_array(e->arena, stack->location_count + 1, sizeof(*m->location_id));
	m->value = arena_take_array(e->arena, VALUES, sizeof(*m->value));
	if (e->arena->failed)
		return NULL;
	for (uint32_t i = 0; i < stack->location_count; i++)
		m->location_id[i] = e->view.stack_locations[stack->first_location + i];
	m->n_location_id = stack->location_count;
	if (!stack->location_count)
		m->location_id[m->n_location_id++] = e->unknown;
	m->n_value = has_waits(&e->view) ? VALUES : VALUES - 1;
	add_labels(e, from, m);
	return m;
}

static void add_samples(struct encoder *e, Pprof__Profile *m)
{
	struct pointer_list list = {0};

	for (size_t i = 1; i < e->view.sample_count && !e->arena->failed; i++) {
		const struct profile_sample *from = &e->view.samples[i];
		Pprof__Sample *sample = from->count ? new_sample(e, from) : NULL;

		if (!sample)
			continue;
		sample->value[0] = as_value(from->count);
		sample->value[1] = as_value((unsigned __int128)from->count * e->view.period_ns);
		pointer_list_add(e->arena, &list, sample);
	}
	for (size_t i = 1; i < e->view.wait_count && !e->arena->failed; i++) {
		const struct profile_wait *from = &e->view.waits[i];
		const struct profile_sample same = {from->stack, from->resource, from->span, 0};
		Pprof__Sample *sample = from->ns ? new_sample(e, &same) : NULL;

		if (!sample)
			continue;
		sample->value[2] = as_value(from->ns);
		pointer_list_add(e->arena, &list, sample);
	}
	m->sample = (Pprof__Sample **)list.items;
	m->n_sample = list.count;
}

static int pack(const Pprof__Profile *m, struct arena *arena, struct buffer *out)
{
	size_t size = pprof__profile__get_packed_size(m);
	uint8_t *packed;

	if (size > PACKED_BYTES_MAX)
		return -EFBIG;
	packed = arena_take(arena, size);
	if (!packed)
		return -ENOMEM;
	pprof__profile__pack(m, packed);
	return gzip_pack(packed, size, out);
}

int format_pprof(const struct profile *p, struct buffer *out)
{
	Pprof__Profile message = PPROF__PROFILE__INIT;
	struct arena arena;
	struct encoder e = {.arena = &arena, .profile = p};
	int err = -ENOMEM;

	arena_open(&arena, ARENA_BYTES_MAX);
	profile_get_view(p, &e.view);
	add_texts(&e);
	if (arena.failed)
		goto out;
	add_types(&e, &message);
	add_mappings(&e, &message);
	add_functions(&e, &message);
	add_locations(&e, &message);
	if (has_empty_stack(&e.view))
		add_unknown(&e, &message);
	add_samples(&e, &message);
	message.string_table = (char **)e.texts.items;
	message.n_string_table = e.texts.count;
	if (!arena.failed)
		err = pack(&message, &arena, out);
out:
	arena_close(&arena);
	return err;
}
