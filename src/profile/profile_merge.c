/* SPDX-License-Identifier: Apache-2.0 */
/* Adds one profile to another: every row is looked up by value and renumbered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "profile/profile_tables.h"
#include "spans/span_groups.h"
#include "spans/spans.h"

/* A row that found no room in the receiving profile; samples that need it are dropped. */
#define LOST UINT32_MAX

struct merge {
	struct profile *to;
	const struct profile *from;
	/* Handle in `from` → handle in `to`. */
	uint32_t *strings, *mappings, *functions, *locations, *stacks, *resources, *spans;
};

static uint32_t *new_map(size_t count)
{
	return calloc(count, sizeof(uint32_t));
}

static int open_maps(struct merge *m)
{
	const struct profile *from = m->from;

	m->strings = new_map(string_table_count(from->strings));
	m->mappings = new_map(from->mappings.count);
	m->functions = new_map(from->functions.count);
	m->locations = new_map(from->locations.count);
	m->stacks = new_map(from->stacks.count);
	m->resources = new_map(from->resources.count);
	m->spans = new_map((size_t)spans_count(from->spans) + 1);
	if (!m->strings || !m->mappings || !m->functions || !m->locations || !m->stacks ||
	    !m->resources || !m->spans)
		return -ENOMEM;
	return 0;
}

static void close_maps(struct merge *m)
{
	free(m->spans);
	free(m->resources);
	free(m->stacks);
	free(m->locations);
	free(m->functions);
	free(m->mappings);
	free(m->strings);
}

static void merge_names(struct merge *m)
{
	uint32_t count = string_table_count(m->from->strings);

	for (uint32_t i = 1; i < count; i++) {
		const char *text = string_table_get(m->from->strings, i);

		m->strings[i] = string_table_add(m->to->strings, text, strlen(text));
	}
	for (uint32_t i = 1; i < m->from->mappings.count; i++) {
		struct profile_mapping row;

		memcpy(&row, table_row(&m->from->mappings, i), sizeof(row));
		row.file = m->strings[row.file];
		row.build_id_go = m->strings[row.build_id_go];
		row.build_id_gnu = m->strings[row.build_id_gnu];
		if (table_intern(&m->to->mappings, &row, sizeof(row), &m->mappings[i]))
			m->mappings[i] = LOST;
	}
	for (uint32_t i = 1; i < m->from->functions.count; i++) {
		struct profile_function row;

		memcpy(&row, table_row(&m->from->functions, i), sizeof(row));
		row.name = m->strings[row.name];
		row.file = m->strings[row.file];
		if (table_intern(&m->to->functions, &row, sizeof(row), &m->functions[i]))
			m->functions[i] = LOST;
	}
}

/* Locations before stacks, mappings and functions before locations: each needs the maps of those
 * below it. */
static uint32_t merge_location(struct merge *m, uint32_t from)
{
	struct profile_line lines[PROFILE_LINES_MAX];
	struct profile_location head;
	uint32_t handle, count = 0;

	memcpy(&head, table_row(&m->from->locations, from), sizeof(head));
	head.mapping = m->mappings[head.mapping];
	if (head.mapping == LOST)
		return LOST;
	for (uint32_t i = 0; i < head.line_count; i++) {
		struct profile_line line;

		memcpy(&line, table_row(&m->from->lines, head.first_line + i), sizeof(line));
		line.function = m->functions[line.function];
		if (line.function == LOST)
			return LOST;
		if (line.function) /* 0 when its strings found no room */
			lines[count++] = line;
	}
	head.line_count = count;
	head.first_line = 0;
	return profile_intern_location(m->to, &head, lines, &handle) ? LOST : handle;
}

static uint32_t merge_stack(struct merge *m, uint32_t from)
{
	uint32_t locations[PROFILE_DEPTH_MAX];
	struct profile_stack head;
	uint32_t handle, depth = 0;

	memcpy(&head, table_row(&m->from->stacks, from), sizeof(head));
	for (uint32_t i = 0; i < head.location_count; i++) {
		uint32_t location;

		memcpy(&location, table_row(&m->from->stack_locations, head.first_location + i),
		       sizeof(location));
		location = m->locations[location];
		if (location == LOST)
			return LOST;
		if (location)
			locations[depth++] = location;
	}
	head.location_count = depth;
	head.first_location = 0;
	return profile_intern_stack(m->to, &head, locations, &handle) ? LOST : handle;
}

static uint32_t merge_resource(struct merge *m, uint32_t from)
{
	struct profile_attribute rows[PROFILE_ATTRIBUTES_MAX];
	const struct profile_resource *head = table_row(&m->from->resources, from);
	uint32_t handle;

	for (uint32_t i = 0; i < head->attribute_count; i++) {
		memcpy(&rows[i], table_row(&m->from->attributes, head->first_attribute + i),
		       sizeof(rows[i]));
		rows[i].key = m->strings[rows[i].key];
		rows[i].value = m->strings[rows[i].value];
	}
	return profile_intern_resource(m->to, rows, head->attribute_count, &handle) ? LOST : handle;
}

static uint32_t merged_resource(const struct merge *m, uint32_t from)
{
	uint32_t to = from < m->from->resources.count ? m->resources[from] : 0;

	return to == LOST ? 0 : to;
}

static void merge_group(const struct merge *m, const struct span_group *group)
{
	spans_absorb_group(m->to->spans, group, string_table_get(m->from->strings, group->name),
			   merged_resource(m, group->resource));
}

static uint32_t merge_span(struct merge *m, uint32_t from)
{
	struct span span = *spans_get(m->from->spans, from);

	span.resource = merged_resource(m, span.resource);
	return spans_absorb(m->to->spans, &span, string_table_get(m->from->strings, span.name));
}

uint64_t profile_scale(uint64_t count, uint64_t from_ns, uint64_t to_ns, uint64_t *carry_ns)
{
	unsigned __int128 value_ns;

	if (from_ns == to_ns || !from_ns || !to_ns)
		return count;
	value_ns = (unsigned __int128)count * from_ns + *carry_ns;
	*carry_ns = (uint64_t)(value_ns % to_ns);
	return value_ns / to_ns < UINT64_MAX ? (uint64_t)(value_ns / to_ns) : UINT64_MAX;
}

static void merge_samples(struct merge *m)
{
	uint64_t from_ns = m->from->config.period_ns, to_ns = m->to->config.period_ns;
	uint64_t carry_ns = to_ns / 2;

	for (uint32_t i = 1; i < m->from->samples.count; i++) {
		const struct profile_sample *from = table_row(&m->from->samples, i);
		uint64_t count = profile_scale(from->count, from_ns, to_ns, &carry_ns);
		struct profile_sample key;

		memset(&key, 0, sizeof(key)); /* rows are compared as bytes */
		key.stack = m->stacks[from->stack];
		key.resource = m->resources[from->resource];
		key.span = m->spans[from->span];
		if (!count)
			continue;
		if (key.stack == LOST || key.resource == LOST || profile_count(m->to, &key, count))
			m->to->dropped += count;
		else if (from->span && !key.span)
			m->to->untagged += count;
	}
}

static void merge_waits(struct merge *m)
{
	for (uint32_t i = 1; i < m->from->waits.count; i++) {
		const struct profile_wait *from = table_row(&m->from->waits, i);
		struct profile_wait key;

		memset(&key, 0, sizeof(key)); /* rows are compared as bytes */
		key.stack = m->stacks[from->stack];
		key.resource = m->resources[from->resource];
		key.span = m->spans[from->span];
		key.kind = from->kind;
		if (key.stack == LOST || key.resource == LOST ||
		    profile_sum_up_wait(m->to, &key, from->ns))
			m->to->waits_dropped_ns += from->ns;
	}
}

int profile_merge(struct profile *to, const struct profile *from)
{
	struct merge m = {.to = to, .from = from};
	int err = open_maps(&m);

	if (err)
		goto out;
	merge_names(&m);
	for (uint32_t i = 1; i < from->locations.count; i++)
		m.locations[i] = merge_location(&m, i);
	for (uint32_t i = 1; i < from->stacks.count; i++)
		m.stacks[i] = merge_stack(&m, i);
	for (uint32_t i = 1; i < from->resources.count; i++)
		m.resources[i] = merge_resource(&m, i);
	for (uint32_t i = 1; i <= spans_count(from->spans); i++)
		m.spans[i] = merge_span(&m, i);
	for (uint32_t i = 1; i <= spans_group_count(from->spans); i++)
		merge_group(&m, spans_get_group(from->spans, i));
	spans_add_ungrouped(to->spans, spans_ungrouped(from->spans));
	merge_samples(&m);
	merge_waits(&m);
	profile_cover(to, from->start_wall_ns, from->end_wall_ns);
	to->dropped += from->dropped;
	to->waits_dropped_ns += from->waits_dropped_ns;
	if (from->look_interval_ns > to->look_interval_ns)
		to->look_interval_ns = from->look_interval_ns;
	to->untagged += from->untagged;
	to->unsampled += from->unsampled;
	to->names_lost += from->names_lost + string_table_dropped(from->strings);
out:
	close_maps(&m);
	return err;
}
