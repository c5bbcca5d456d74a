/* SPDX-License-Identifier: Apache-2.0 */
/* From the symbolizer's locations to rows: by their id when seen before, else by their value. */
#include <errno.h>
#include <string.h>

#include "base/string_table.h"
#include "profile/profile_tables.h"

struct id_row {
	uint64_t id;
	uint64_t handle;
};

/* Remembers what an id stands for. A full cache starts anew: it only saves work. */
static void remember(struct table *ids, uint64_t id, uint32_t handle)
{
	struct id_row row = {.id = id, .handle = handle};
	uint32_t unused;

	if (table_intern(ids, &row, sizeof(row.id), &unused) == -ENOSPC) {
		table_clear(ids);
		table_intern(ids, &row, sizeof(row.id), &unused);
	}
}

static bool recall(const struct table *ids, uint64_t id, uint32_t *handle)
{
	uint32_t found = table_find(ids, &id, sizeof(id));

	if (!found)
		return false;
	*handle = (uint32_t)((const struct id_row *)table_row(ids, found))->handle;
	return true;
}

static uint32_t add_text(struct profile *p, const char *text)
{
	return string_table_add(p->strings, text, strlen(text));
}

static int take_mapping(struct profile *p, const struct frame_mapping *m, uint32_t *handle)
{
	struct profile_mapping row;
	int err;

	*handle = 0;
	if (!m || recall(&p->mapping_ids, m->id, handle))
		return 0;
	memset(&row, 0, sizeof(row)); /* rows are compared as bytes */
	if (m->memory_start < m->memory_limit) {
		row.memory_start = m->memory_start;
		row.memory_limit = m->memory_limit;
	}
	row.file_offset = m->file_offset;
	row.file = add_text(p, m->file);
	row.build_id_go = add_text(p, m->build_id_go);
	row.build_id_gnu = add_text(p, m->build_id_gnu);
	err = table_intern(&p->mappings, &row, sizeof(row), handle);
	if (!err)
		remember(&p->mapping_ids, m->id, *handle);
	return err;
}

static int take_lines(struct profile *p, const struct location *location,
		      struct profile_line *lines, uint32_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < location->frame_count && *count < PROFILE_LINES_MAX; i++) {
		const struct frame *f = &location->frames[i];
		struct profile_function row = {
			.name = add_text(p, f->function),
			.file = add_text(p, f->file),
			.start_line = f->start_line,
		};
		int err = table_intern(&p->functions, &row, sizeof(row), &lines[*count].function);

		if (err)
			return err;
		lines[*count].line = f->line;
		/* A frame of which nothing is known says no more than the address. */
		if (lines[*count].function)
			(*count)++;
	}
	return 0;
}

int profile_intern_location(struct profile *p, const struct profile_location *head,
			    const struct profile_line *lines, uint32_t *handle)
{
	struct table_list list = {
		.head = head,
		.first_offset = offsetof(struct profile_location, first_line),
		.items = lines,
		.item_count = head->line_count,
	};

	return table_intern_list(&p->locations, &p->lines, &list, handle);
}

int profile_take_location(struct profile *p, const struct location *location, uint32_t *handle)
{
	struct profile_line lines[PROFILE_LINES_MAX];
	struct profile_location head;
	int err;

	if (recall(&p->location_ids, location->id, handle))
		return 0;
	memset(&head, 0, sizeof(head));
	head.address = location->address;
	head.kind = location->kind;
	err = take_mapping(p, location->mapping, &head.mapping);
	if (!err)
		err = take_lines(p, location, lines, &head.line_count);
	if (!err)
		err = profile_intern_location(p, &head, lines, handle);
	if (!err)
		remember(&p->location_ids, location->id, *handle);
	return err;
}

void profile_forget_locations(struct profile *p)
{
	table_clear(&p->location_ids);
	table_clear(&p->mapping_ids);
}
