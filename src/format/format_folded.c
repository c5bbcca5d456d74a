/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: service;span name;outermost function;…;leaf count. */
#include "format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "profile/profile.h"
#include "spans/spans.h"

struct row {
	uint32_t service, name, stack; /* strings, stack handle */
	uint64_t count;
};

static int compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->service != b->service)
		return a->service < b->service ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* The two characters that mean something in a folded line; line breaks were cleaned away. */
static void add_name(struct buffer *out, const char *name, const char *unknown)
{
	if (!name[0])
		name = unknown;
	for (const char *at = name; *at; at++)
		buffer_add(out, *at == ';' ? ":" : *at == '\n' ? " " : at, 1);
}

static void add_location(const struct profile *p, const struct profile_view *v,
			 const struct profile_location *l, struct buffer *out)
{
	const struct string_table *strings = profile_get_strings(p);

	/* Outermost first: the reverse of the lines table. */
	for (uint32_t i = l->line_count; i-- > 0;) {
		const struct profile_line *line = &v->lines[l->first_line + i];

		buffer_add(out, ";", 1);
		add_name(out, string_table_get(strings, v->functions[line->function].name),
			 "[unknown]");
	}
	if (!l->line_count) {
		const struct profile_mapping *m = &v->mappings[l->mapping];
		const char *file = string_table_get(strings, m->file);
		const char *slash = strrchr(file, '/');
		uint64_t offset = l->address;

		/* As an offset into the file the address means the same in every process. */
		if (offset >= m->memory_start && offset < m->memory_limit)
			offset = offset - m->memory_start + m->file_offset;
		buffer_add(out, ";", 1);
		add_name(out, slash ? slash + 1 : file, "[unknown]");
		buffer_printf(out, "+0x%llx", (unsigned long long)offset);
	}
}

static void add_row(const struct profile *p, const struct profile_view *v, const struct row *row,
		    struct buffer *out)
{
	const struct string_table *strings = profile_get_strings(p);
	const struct profile_stack *stack = &v->stacks[row->stack];

	add_name(out, string_table_get(strings, row->service), "[unknown service]");
	buffer_add(out, ";", 1);
	add_name(out, string_table_get(strings, row->name), "[no span]");
	for (uint32_t i = stack->location_count; i-- > 0;)
		add_location(p, v, &v->locations[v->stack_locations[stack->first_location + i]],
			     out);
	if (!stack->location_count)
		buffer_printf(out, ";[unknown]");
	buffer_printf(out, " %llu\n", (unsigned long long)row->count);
}

int format_folded(const struct profile *p, struct buffer *out)
{
	const struct spans *spans = profile_get_spans(p);
	struct profile_view v;
	struct row *rows;
	size_t kept = 0;

	profile_get_view(p, &v);
	rows = calloc(v.sample_count, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 1; i < v.sample_count; i++) {
		const struct profile_sample *from = &v.samples[i];
		const struct span *span = spans_get(spans, from->span);

		rows[i - 1] = (struct row){
			.service = profile_get_service(p, from->resource),
			.name = span ? span->name : 0,
			.stack = from->stack,
			.count = from->count,
		};
	}
	qsort(rows, v.sample_count - 1, sizeof(*rows), compare);
	/* Spans of one name become one line. */
	for (size_t i = 0; i + 1 < v.sample_count; i++) {
		if (kept && !compare(&rows[kept - 1], &rows[i]))
			rows[kept - 1].count += rows[i].count;
		else
			rows[kept++] = rows[i];
	}
	for (size_t i = 0; i < kept; i++)
		if (rows[i].count)
			add_row(p, &v, &rows[i], out);
	free(rows);
	return out->failed ? -EFBIG : 0;
}
