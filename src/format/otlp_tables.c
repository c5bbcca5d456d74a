/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a foreign dictionary once, so that samples can be read without further doubt. */
#include "format/otlp_tables.h"

#include <errno.h>
#include <string.h>

#include "format/otlp_dictionary.h"
#include "format/reading.h"

int otlp_tables_check(const struct otlp_tables *t, const char *what, int64_t index, size_t count)
{
	if (index >= 0 && (!index || (uint64_t)index < count))
		return 0;
	return reading_fail(t->reading, "the %s table has no entry %lld (it has %zu)", what,
			    (long long)index, count);
}

static int check_text(const struct otlp_tables *t, int32_t index)
{
	return otlp_tables_check(t, "string", index, t->dictionary->n_string_table);
}

const char *otlp_tables_text(const struct otlp_tables *t, int32_t index)
{
	return index ? t->dictionary->string_table[index] : "";
}

int otlp_tables_check_value(const struct otlp_tables *t, const Otlp__AnyValue *value)
{
	if (!value || value->value_case != OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX)
		return 0;
	return check_text(t, value->string_value_strindex);
}

const char *otlp_tables_value_text(const struct otlp_tables *t, const Otlp__AnyValue *value)
{
	if (value && value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE)
		return value->string_value;
	if (value && value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX)
		return otlp_tables_text(t, value->string_value_strindex);
	return "";
}

int otlp_tables_check_attributes(const struct otlp_tables *t, const int32_t *indices, size_t count)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = otlp_tables_check(t, "attribute", indices[i],
					t->dictionary->n_attribute_table);
	return err;
}

const Otlp__AnyValue *otlp_tables_find(const struct otlp_tables *t, const int32_t *indices,
				       size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		const Otlp__Attribute *m;

		if (!indices[i])
			continue;
		m = t->dictionary->attribute_table[indices[i]];
		if (!strcmp(otlp_tables_text(t, m->key_strindex), key))
			return m->value;
	}
	return NULL;
}

static void cut_string_table(const Otlp__Dictionary *d)
{
	for (size_t i = 0; i < d->n_string_table; i++)
		reading_cut_text(d->string_table[i]);
}

static int check_attribute_table(const struct otlp_tables *t)
{
	int err = 0;

	for (size_t i = 1; !err && i < t->dictionary->n_attribute_table; i++) {
		const Otlp__Attribute *m = t->dictionary->attribute_table[i];

		err = check_text(t, m->key_strindex);
		if (!err)
			err = otlp_tables_check_value(t, m->value);
		if (!err && m->value && m->value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE)
			reading_cut_text(m->value->string_value);
	}
	return err;
}

static int check_function_table(const struct otlp_tables *t)
{
	int err = 0;

	for (size_t i = 1; !err && i < t->dictionary->n_function_table; i++) {
		const Otlp__Function *m = t->dictionary->function_table[i];

		err = check_text(t, m->name_strindex);
		if (!err)
			err = check_text(t, m->system_name_strindex);
		if (!err)
			err = check_text(t, m->filename_strindex);
	}
	return err;
}

static int check_link_table(const struct otlp_tables *t)
{
	for (size_t i = 1; i < t->dictionary->n_link_table; i++) {
		const Otlp__Link *m = t->dictionary->link_table[i];

		if (m->trace_id.len != 16 || m->span_id.len != 8)
			return reading_fail(t->reading, "link %zu has IDs of %zu and %zu bytes", i,
					    m->trace_id.len, m->span_id.len);
	}
	return 0;
}

/* Entries 0 say nothing; many samples may name one stack, so each is rid of them here, once. */
static int check_stack_table(const struct otlp_tables *t)
{
	int err = 0;

	for (size_t i = 1; !err && i < t->dictionary->n_stack_table; i++) {
		Otlp__Stack *m = t->dictionary->stack_table[i];
		size_t kept = 0;

		for (size_t j = 0; !err && j < m->n_location_indices; j++) {
			int32_t index = m->location_indices[j];

			err = otlp_tables_check(t, "location", index,
						t->dictionary->n_location_table);
			if (index && kept < READING_DEPTH_MAX)
				m->location_indices[kept++] = index;
		}
		m->n_location_indices = kept;
	}
	return err;
}

static int read_mapping(struct otlp_tables *t, size_t index)
{
	const Otlp__Mapping *m = t->dictionary->mapping_table[index];
	struct frame_mapping *mapping = arena_take(t->arena, sizeof(*mapping));
	int err = check_text(t, m->filename_strindex);

	if (!err)
		err = otlp_tables_check_attributes(t, m->attribute_indices, m->n_attribute_indices);
	if (err || !mapping)
		return err ? err : -ENOMEM;
	mapping->id = index;
	if (m->memory_start < m->memory_limit) {
		mapping->memory_start = m->memory_start;
		mapping->memory_limit = m->memory_limit;
	}
	mapping->file_offset = m->file_offset;
	mapping->file = otlp_tables_text(t, m->filename_strindex);
	mapping->build_id_go = otlp_tables_value_text(
		t, otlp_tables_find(t, m->attribute_indices, m->n_attribute_indices,
				    otlp_words[OTLP_BUILD_ID_GO]));
	mapping->build_id_gnu = otlp_tables_value_text(
		t, otlp_tables_find(t, m->attribute_indices, m->n_attribute_indices,
				    otlp_words[OTLP_BUILD_ID_GNU]));
	t->mappings[index] = mapping;
	err = reading_spend(t->reading, mapping->file);
	if (!err)
		err = reading_spend(t->reading, mapping->build_id_go);
	if (!err)
		err = reading_spend(t->reading, mapping->build_id_gnu);
	return err;
}

static enum frame_kind kind_of(const struct otlp_tables *t, const Otlp__Location *m)
{
	const char *text = otlp_tables_value_text(t, otlp_tables_find(t, m->attribute_indices,
								      m->n_attribute_indices,
								      otlp_words[OTLP_FRAME_TYPE]));

	for (int kind = FRAME_GO; kind <= FRAME_KERNEL; kind++)
		if (!strcmp(text, otlp_frame_types[kind]))
			return kind;
	return FRAME_NATIVE;
}

/* Adds the line to a location that has room for it, if it says anything. */
static int read_line(struct otlp_tables *t, const Otlp__Line *m, struct location *location)
{
	static const Otlp__Function nothing = OTLP__FUNCTION__INIT;
	const Otlp__Function *f = &nothing;
	struct frame frame;
	int err = otlp_tables_check(t, "function", m->function_index,
				    t->dictionary->n_function_table);

	if (err)
		return err;
	if (m->function_index)
		f = t->dictionary->function_table[m->function_index];
	if (location->frame_count == READING_LINES_MAX)
		return 0;
	frame.function =
		otlp_tables_text(t, f->name_strindex ? f->name_strindex : f->system_name_strindex);
	frame.file = otlp_tables_text(t, f->filename_strindex);
	frame.start_line = reading_line_number(f->start_line);
	frame.line = reading_line_number(m->line);
	return reading_add_frame(t->reading, location, &frame);
}

static int read_location(struct otlp_tables *t, size_t index)
{
	const Otlp__Location *m = t->dictionary->location_table[index];
	struct location *location;
	size_t frames;
	int err;

	err = otlp_tables_check(t, "mapping", m->mapping_index, t->dictionary->n_mapping_table);
	if (!err)
		err = otlp_tables_check_attributes(t, m->attribute_indices, m->n_attribute_indices);
	if (err)
		return err;
	frames = m->n_lines < READING_LINES_MAX ? m->n_lines : READING_LINES_MAX;
	location = arena_take(t->arena, sizeof(*location) + frames * sizeof(struct frame));
	if (!location)
		return -ENOMEM;
	location->id = index;
	location->address = m->address;
	location->mapping = m->mapping_index ? t->mappings[m->mapping_index] : NULL;
	location->kind = kind_of(t, m);
	for (size_t i = 0; i < m->n_lines; i++) {
		err = read_line(t, m->lines[i], location);
		if (err)
			return err;
	}
	if (reading_is_state(location))
		location->kind = FRAME_STATE;
	t->locations[index] = location;
	return 0;
}

int otlp_tables_open(struct otlp_tables *t, struct arena *arena, Otlp__Dictionary *dictionary)
{
	static const Otlp__Dictionary empty = OTLP__DICTIONARY__INIT;
	const Otlp__Dictionary *d = dictionary ? dictionary : &empty;
	int err;

	t->arena = arena;
	t->dictionary = d;
	t->mappings = arena_take_array(arena, d->n_mapping_table, sizeof(*t->mappings));
	t->locations = arena_take_array(arena, d->n_location_table, sizeof(*t->locations));
	t->stacks = arena_take_array(arena, d->n_stack_table + 1, sizeof(*t->stacks));
	if (arena->failed)
		return -ENOMEM;
	cut_string_table(d);
	err = check_attribute_table(t);
	if (!err)
		err = check_function_table(t);
	if (!err)
		err = check_link_table(t);
	if (!err)
		err = check_stack_table(t);
	for (size_t i = 1; !err && i < d->n_mapping_table; i++)
		err = read_mapping(t, i);
	for (size_t i = 1; !err && i < d->n_location_table; i++)
		err = read_location(t, i);
	return err;
}
