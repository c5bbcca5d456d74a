/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of one request: from the profile's handles to indices in them, filled on demand. */
#include "format/otlp_dictionary.h"

#include <string.h>

#include "base/handle_index.h"
#include "base/hex.h"
#include "base/string_table.h"
#include "spans/spans.h"

const char *const otlp_words[OTLP_WORDS] = {
	[OTLP_SAMPLES] = "samples",
	[OTLP_COUNT] = "count",
	[OTLP_CPU] = "cpu",
	[OTLP_OFF_CPU] = "off_cpu",
	[OTLP_NANOSECONDS] = "nanoseconds",
	[OTLP_FRAME_TYPE] = "profile.frame.type",
	[OTLP_BUILD_ID_GO] = "process.executable.build_id.go",
	[OTLP_BUILD_ID_GNU] = "process.executable.build_id.gnu",
	[OTLP_SPAN_NAME] = "span.name",
	[OTLP_SPAN_SAMPLED] = "span.sampled",
	[OTLP_SPAN_START] = "span.start_time_unix_nano",
	[OTLP_SPAN_DURATION] = "span.duration_nano",
	[OTLP_SPAN_SEEN_OPEN] = "span.seen_open_time_unix_nano",
	[OTLP_SPAN_PARENT] = "span.parent_span_id",
	[OTLP_SPAN_STATUS] = "span.status_code",
	[OTLP_STACK_TRUNCATED] = "stack.truncated",
};

const char *const otlp_frame_types[FRAME_STATE + 1] = {
	[FRAME_GO] = "go",
	[FRAME_NATIVE] = "native",
	[FRAME_KERNEL] = "kernel",
};

/* In every map 0 means "not there yet": entry 0 of each table is the zero value. */
struct otlp_dictionary {
	struct arena *arena;
	struct profile_view view;
	const struct string_table *strings;
	const struct spans *spans;
	struct pointer_list mappings, locations, functions, links, texts, attributes, stacks;
	/* By handle in the profile. */
	int32_t *mapping_at, *location_at, *function_at, *link_at, *stack_at;
	/* By handle of a span: its attributes of times, up to a 0. */
	int32_t (*span_times_at)[OTLP_SPAN_TIMES_MAX + 1];
	struct handle_index span_attributes; /* those by their values */
	/* By string id: the text itself and attributes with it as value. */
	int32_t *text_at, *build_id_go_at, *build_id_gnu_at, *span_name_at;
	int32_t word_at[OTLP_WORDS], frame_type_at[FRAME_STATE + 1], unsampled_at, truncated_at;
};

static void add_zero_values(struct otlp_dictionary *d)
{
	struct arena *a = d->arena;

	pointer_list_add(a, &d->mappings, NEW_MESSAGE(a, Otlp__Mapping, OTLP__MAPPING__INIT));
	pointer_list_add(a, &d->locations, NEW_MESSAGE(a, Otlp__Location, OTLP__LOCATION__INIT));
	pointer_list_add(a, &d->functions, NEW_MESSAGE(a, Otlp__Function, OTLP__FUNCTION__INIT));
	pointer_list_add(a, &d->links, NEW_MESSAGE(a, Otlp__Link, OTLP__LINK__INIT));
	pointer_list_add(a, &d->texts, arena_take(a, 1));
	pointer_list_add(a, &d->attributes, NEW_MESSAGE(a, Otlp__Attribute, OTLP__ATTRIBUTE__INIT));
	pointer_list_add(a, &d->stacks, NEW_MESSAGE(a, Otlp__Stack, OTLP__STACK__INIT));
}

struct otlp_dictionary *otlp_dictionary_new(struct arena *arena, const struct profile *p)
{
	struct otlp_dictionary *d = arena_take(arena, sizeof(*d));
	size_t texts;

	if (!d)
		return NULL;
	d->arena = arena;
	d->strings = profile_get_strings(p);
	d->spans = profile_get_spans(p);
	profile_get_view(p, &d->view);
	texts = string_table_count(d->strings);
	d->mapping_at = arena_take_array(arena, d->view.mapping_count, sizeof(int32_t));
	d->location_at = arena_take_array(arena, d->view.location_count, sizeof(int32_t));
	d->function_at = arena_take_array(arena, d->view.function_count, sizeof(int32_t));
	d->stack_at = arena_take_array(arena, d->view.stack_count, sizeof(int32_t));
	d->link_at = arena_take_array(arena, (size_t)spans_count(d->spans) + 1, sizeof(int32_t));
	d->span_times_at = arena_take_array(arena, (size_t)spans_count(d->spans) + 1,
					    sizeof(*d->span_times_at));
	d->text_at = arena_take_array(arena, texts, sizeof(int32_t));
	d->build_id_go_at = arena_take_array(arena, texts, sizeof(int32_t));
	d->build_id_gnu_at = arena_take_array(arena, texts, sizeof(int32_t));
	d->span_name_at = arena_take_array(arena, texts, sizeof(int32_t));
	add_zero_values(d);
	return arena->failed ? NULL : d;
}

/* Adds and gives the index. Tables are capped far below 2^31 by the profile's caps. */
static int32_t add(struct otlp_dictionary *d, struct pointer_list *list, void *item)
{
	return (int32_t)pointer_list_add(d->arena, list, item);
}

int32_t otlp_dictionary_word(struct otlp_dictionary *d, enum otlp_word word)
{
	if (!d->word_at[word])
		d->word_at[word] = add(d, &d->texts, (void *)otlp_words[word]);
	return d->word_at[word];
}

static int32_t text_index(struct otlp_dictionary *d, uint32_t id)
{
	const char *text;

	if (!id || d->text_at[id])
		return id ? d->text_at[id] : 0;
	text = string_table_get(d->strings, id);
	/* A function may be called like one of our words; it must not be there twice. */
	for (int word = 0; word < OTLP_WORDS; word++)
		if (!strcmp(text, otlp_words[word]))
			return d->text_at[id] = otlp_dictionary_word(d, word);
	return d->text_at[id] = add(d, &d->texts, (void *)text);
}

static Otlp__Attribute *new_attribute(struct otlp_dictionary *d, enum otlp_word key)
{
	Otlp__Attribute *m = NEW_MESSAGE(d->arena, Otlp__Attribute, OTLP__ATTRIBUTE__INIT);
	Otlp__AnyValue *value = NEW_MESSAGE(d->arena, Otlp__AnyValue, OTLP__ANY_VALUE__INIT);

	if (!m || !value)
		return NULL;
	m->key_strindex = otlp_dictionary_word(d, key);
	m->value = value;
	return m;
}

/* `at` remembers the index. */
static int32_t text_attribute(struct otlp_dictionary *d, enum otlp_word key, const char *value,
			      int32_t *at)
{
	Otlp__Attribute *m;

	if (*at)
		return *at;
	m = new_attribute(d, key);
	if (!m)
		return 0;
	m->value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	m->value->string_value = (char *)value;
	return *at = add(d, &d->attributes, m);
}

static int32_t flag_attribute(struct otlp_dictionary *d, enum otlp_word key, bool value,
			      int32_t *at)
{
	Otlp__Attribute *m;

	if (*at)
		return *at;
	m = new_attribute(d, key);
	if (!m)
		return 0;
	m->value->value_case = OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
	m->value->bool_value = value;
	return *at = add(d, &d->attributes, m);
}

int32_t otlp_dictionary_span_name(struct otlp_dictionary *d, uint32_t name)
{
	return text_attribute(d, OTLP_SPAN_NAME, string_table_get(d->strings, name),
			      &d->span_name_at[name]);
}

static bool same_attribute(const void *owner, uint32_t index, const void *key)
{
	const struct otlp_dictionary *d = owner;
	const Otlp__Attribute *a = d->attributes.items[index], *b = key;

	if (a->key_strindex != b->key_strindex)
		return false;
	return b->value->value_case == OTLP__ANY_VALUE__VALUE_INT_VALUE
		       ? a->value->int_value == b->value->int_value
		       : !strcmp(a->value->string_value, b->value->string_value);
}

/* Spans may have the same parent, or outcome. All attributes of a key have values of one type. */
static int32_t intern_attribute(struct otlp_dictionary *d, Otlp__Attribute *m, uint64_t hash)
{
	uint32_t at = handle_index_find(&d->span_attributes, hash, same_attribute, d, m);

	if (at)
		return (int32_t)at;
	at = (uint32_t)add(d, &d->attributes, m);
	if (at && handle_index_add(&d->span_attributes, hash, at))
		d->arena->failed = true;
	return (int32_t)at;
}

static int32_t number_attribute(struct otlp_dictionary *d, enum otlp_word key, uint64_t value)
{
	Otlp__Attribute *m = new_attribute(d, key);

	if (!m)
		return 0;
	m->value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	m->value->int_value = value < INT64_MAX ? (int64_t)value : INT64_MAX;
	return intern_attribute(d, m, handle_hash(&value, sizeof(value)));
}

static int32_t parent_attribute(struct otlp_dictionary *d, const uint8_t id[8])
{
	Otlp__Attribute *m = new_attribute(d, OTLP_SPAN_PARENT);
	char *hex = arena_take(d->arena, 17);

	if (!m || !hex)
		return 0;
	hex_write(id, 8, hex);
	m->value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	m->value->string_value = hex;
	return intern_attribute(d, m, handle_hash(id, 8));
}

static void add_span_times(struct otlp_dictionary *d, const struct span *span, int32_t *to)
{
	static const uint8_t no_parent[8];

	*to++ = number_attribute(d, OTLP_SPAN_START, span->start_wall_ns);
	*to++ = span->ended ? number_attribute(d, OTLP_SPAN_DURATION, span->duration_ns)
			    : number_attribute(d, OTLP_SPAN_SEEN_OPEN, span->open_wall_ns);
	if (memcmp(span->parent_id, no_parent, sizeof(no_parent)))
		*to++ = parent_attribute(d, span->parent_id);
	if (span->status)
		*to++ = number_attribute(d, OTLP_SPAN_STATUS, span->status);
}

const int32_t *otlp_dictionary_span_times(struct otlp_dictionary *d, uint32_t handle)
{
	const struct span *span = spans_get(d->spans, handle);
	int32_t *at = d->span_times_at[span ? handle : 0];

	if (span && !at[0] && (span->ended || span->open_wall_ns))
		add_span_times(d, span, at);
	return at;
}

int32_t otlp_dictionary_unsampled(struct otlp_dictionary *d)
{
	return flag_attribute(d, OTLP_SPAN_SAMPLED, false, &d->unsampled_at);
}

int32_t otlp_dictionary_truncated(struct otlp_dictionary *d)
{
	return flag_attribute(d, OTLP_STACK_TRUNCATED, true, &d->truncated_at);
}

/*
 * The functions from here on add an entry after those it refers to, so that a failed arena leaves
 * no entry with a dangling index; whoever finishes the dictionary sees the failure.
 */
static int32_t mapping_index(struct otlp_dictionary *d, uint32_t handle)
{
	const struct profile_mapping *row = &d->view.mappings[handle];
	Otlp__Mapping *m;

	if (!handle || d->mapping_at[handle])
		return handle ? d->mapping_at[handle] : 0;
	m = NEW_MESSAGE(d->arena, Otlp__Mapping, OTLP__MAPPING__INIT);
	if (!m)
		return 0;
	m->attribute_indices = arena_take_array(d->arena, 2, sizeof(int32_t));
	if (!m->attribute_indices)
		return 0;
	m->memory_start = row->memory_start;
	m->memory_limit = row->memory_limit;
	m->file_offset = row->file_offset;
	m->filename_strindex = text_index(d, row->file);
	if (row->build_id_go)
		m->attribute_indices[m->n_attribute_indices++] = text_attribute(
			d, OTLP_BUILD_ID_GO, string_table_get(d->strings, row->build_id_go),
			&d->build_id_go_at[row->build_id_go]);
	if (row->build_id_gnu)
		m->attribute_indices[m->n_attribute_indices++] = text_attribute(
			d, OTLP_BUILD_ID_GNU, string_table_get(d->strings, row->build_id_gnu),
			&d->build_id_gnu_at[row->build_id_gnu]);
	return d->mapping_at[handle] = add(d, &d->mappings, m);
}

static int32_t function_index(struct otlp_dictionary *d, uint32_t handle)
{
	const struct profile_function *row = &d->view.functions[handle];
	Otlp__Function *m;

	if (!handle || d->function_at[handle])
		return handle ? d->function_at[handle] : 0;
	m = NEW_MESSAGE(d->arena, Otlp__Function, OTLP__FUNCTION__INIT);
	if (!m)
		return 0;
	m->name_strindex = text_index(d, row->name);
	m->system_name_strindex = m->name_strindex;
	m->filename_strindex = text_index(d, row->file);
	m->start_line = row->start_line;
	return d->function_at[handle] = add(d, &d->functions, m);
}

static int32_t location_index(struct otlp_dictionary *d, uint32_t handle)
{
	const struct profile_location *row = &d->view.locations[handle];
	struct pointer_list lines = {0};
	Otlp__Location *m;

	if (!handle || d->location_at[handle])
		return handle ? d->location_at[handle] : 0;
	m = NEW_MESSAGE(d->arena, Otlp__Location, OTLP__LOCATION__INIT);
	if (!m)
		return 0;
	m->mapping_index = mapping_index(d, row->mapping);
	m->address = row->address;
	for (uint32_t i = 0; i < row->line_count; i++) {
		const struct profile_line *from = &d->view.lines[row->first_line + i];
		Otlp__Line *line = NEW_MESSAGE(d->arena, Otlp__Line, OTLP__LINE__INIT);

		if (!line)
			return 0;
		line->function_index = function_index(d, from->function);
		line->line = from->line;
		pointer_list_add(d->arena, &lines, line);
	}
	m->lines = (Otlp__Line **)lines.items;
	m->n_lines = lines.count;
	m->attribute_indices = arena_take_array(d->arena, 1, sizeof(int32_t));
	if (!m->attribute_indices)
		return 0;
	if (otlp_frame_types[row->kind])
		m->attribute_indices[m->n_attribute_indices++] =
			text_attribute(d, OTLP_FRAME_TYPE, otlp_frame_types[row->kind],
				       &d->frame_type_at[row->kind]);
	return d->location_at[handle] = add(d, &d->locations, m);
}

int32_t otlp_dictionary_stack(struct otlp_dictionary *d, uint32_t handle)
{
	const struct profile_stack *row = &d->view.stacks[handle];
	Otlp__Stack *m;

	if (!row->location_count || d->stack_at[handle])
		return row->location_count ? d->stack_at[handle] : 0;
	m = NEW_MESSAGE(d->arena, Otlp__Stack, OTLP__STACK__INIT);
	if (!m)
		return 0;
	m->location_indices = arena_take_array(d->arena, row->location_count, sizeof(int32_t));
	if (!m->location_indices)
		return 0;
	for (uint32_t i = 0; i < row->location_count; i++)
		m->location_indices[i] =
			location_index(d, d->view.stack_locations[row->first_location + i]);
	m->n_location_indices = row->location_count;
	return d->stack_at[handle] = add(d, &d->stacks, m);
}

int32_t otlp_dictionary_link(struct otlp_dictionary *d, uint32_t handle)
{
	const struct span *span = spans_get(d->spans, handle);
	Otlp__Link *m;

	if (!span || d->link_at[handle])
		return span ? d->link_at[handle] : 0;
	m = NEW_MESSAGE(d->arena, Otlp__Link, OTLP__LINK__INIT);
	if (!m)
		return 0;
	m->trace_id.len = sizeof(span->trace_id);
	m->trace_id.data = (uint8_t *)span->trace_id;
	m->span_id.len = sizeof(span->span_id);
	m->span_id.data = (uint8_t *)span->span_id;
	return d->link_at[handle] = add(d, &d->links, m);
}

Otlp__Dictionary *otlp_dictionary_finish(struct otlp_dictionary *d)
{
	Otlp__Dictionary *m = NEW_MESSAGE(d->arena, Otlp__Dictionary, OTLP__DICTIONARY__INIT);

	if (!m || d->arena->failed)
		return NULL;
#define SET_TABLE(field, list)                                                                     \
	do {                                                                                       \
		m->field = (void *)(list).items;                                                   \
		m->n_##field = (list).count;                                                       \
	} while (0)
	SET_TABLE(mapping_table, d->mappings);
	SET_TABLE(location_table, d->locations);
	SET_TABLE(function_table, d->functions);
	SET_TABLE(link_table, d->links);
	SET_TABLE(string_table, d->texts);
	SET_TABLE(attribute_table, d->attributes);
	SET_TABLE(stack_table, d->stacks);
#undef SET_TABLE
	return m;
}

void otlp_dictionary_close(struct otlp_dictionary *d)
{
	if (d)
		handle_index_close(&d->span_attributes);
}
