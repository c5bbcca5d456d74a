/* SPDX-License-Identifier: Apache-2.0 */
/* profile: counted samples of one window: stacks, resources, span handles. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "profile/profile_tables.h"
#include "spans/spans.h"

/* Caps of the tables that the configuration does not name, per distinct sample where they grow
 * with samples: real services stay far below (a profile has a few thousand distinct PCs). */
#define LOCATIONS_PER_SAMPLE	   4
#define STACK_LOCATIONS_PER_SAMPLE 96
#define LOCATIONS_BASE		   16384
#define MAPPINGS_MAX		   65536
#define RESOURCES_MAX		   16384

static int open_tables(struct profile *p)
{
	size_t samples = p->config.samples_max < UINT32_MAX ? p->config.samples_max : UINT32_MAX;
	size_t locations = samples * LOCATIONS_PER_SAMPLE + LOCATIONS_BASE;
	const struct {
		struct table *table;
		size_t row_size, max;
	} all[] = {
		{&p->mappings, sizeof(struct profile_mapping), MAPPINGS_MAX},
		{&p->functions, sizeof(struct profile_function), locations},
		{&p->lines, sizeof(struct profile_line), 2 * locations},
		{&p->locations, sizeof(struct profile_location), locations},
		{&p->stack_locations, sizeof(uint32_t),
		 samples * STACK_LOCATIONS_PER_SAMPLE + LOCATIONS_BASE},
		{&p->stacks, sizeof(struct profile_stack), samples},
		{&p->attributes, sizeof(struct profile_attribute), 16 * RESOURCES_MAX},
		{&p->resources, sizeof(struct profile_resource), RESOURCES_MAX},
		{&p->samples, sizeof(struct profile_sample), samples},
		{&p->waits, sizeof(struct profile_wait), samples},
		{&p->location_ids, sizeof(uint64_t) * 2, locations},
		{&p->mapping_ids, sizeof(uint64_t) * 2, MAPPINGS_MAX},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int err = table_open(all[i].table, all[i].row_size, all[i].max);

		if (err)
			return err;
	}
	return 0;
}

int profile_open(const struct profile_config *config, uint64_t start_wall_ns, struct profile **out)
{
	struct profile *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->config = *config;
	p->start_wall_ns = start_wall_ns;
	err = string_table_open(config->strings_bytes_max, &p->strings);
	if (!err)
		err = spans_open(p->strings, config->spans_max, &p->spans);
	if (!err)
		err = open_tables(p);
	if (err)
		profile_close(p);
	else
		*out = p;
	return err;
}

void profile_close(struct profile *p)
{
	if (!p)
		return;
	table_close(&p->mapping_ids);
	table_close(&p->location_ids);
	table_close(&p->waits);
	table_close(&p->samples);
	table_close(&p->resources);
	table_close(&p->attributes);
	table_close(&p->stacks);
	table_close(&p->stack_locations);
	table_close(&p->locations);
	table_close(&p->lines);
	table_close(&p->functions);
	table_close(&p->mappings);
	spans_close(p->spans);
	string_table_close(p->strings);
	free(p);
}

int profile_intern_stack(struct profile *p, const struct profile_stack *head,
			 const uint32_t *locations, uint32_t *handle)
{
	struct table_list list = {
		.head = head,
		.first_offset = offsetof(struct profile_stack, first_location),
		.items = locations,
		.item_count = head->location_count,
	};

	return table_intern_list(&p->stacks, &p->stack_locations, &list, handle);
}

static struct table_list resource_list(const struct profile_resource *head,
				       const struct profile_attribute *attributes)
{
	return (struct table_list){
		.head = head,
		.first_offset = offsetof(struct profile_resource, first_attribute),
		.items = attributes,
		.item_count = head->attribute_count,
	};
}

int profile_intern_resource(struct profile *p, const struct profile_attribute *attributes,
			    size_t count, uint32_t *handle)
{
	struct profile_resource head = {.attribute_count = (uint32_t)count};
	struct table_list list = resource_list(&head, attributes);

	return table_intern_list(&p->resources, &p->attributes, &list, handle);
}

int profile_count(struct profile *p, const struct profile_sample *key, uint64_t count)
{
	uint32_t handle;
	struct profile_sample *row;
	int err;

	/* Not even a sample of which nothing is known may fall into the zero row. */
	err = table_intern_row(&p->samples, key, offsetof(struct profile_sample, count), &handle);
	if (err)
		return err;
	row = table_row(&p->samples, handle);
	row->count += count;
	return 0;
}

/* Their number; `rows` has room for PROFILE_ATTRIBUTES_MAX. */
static size_t add_attributes(struct profile *p, const struct resource_attribute *attributes,
			     size_t count, struct profile_attribute *rows)
{
	if (count > PROFILE_ATTRIBUTES_MAX)
		count = PROFILE_ATTRIBUTES_MAX;
	memset(rows, 0, PROFILE_ATTRIBUTES_MAX * sizeof(*rows)); /* compared as bytes */
	for (size_t i = 0; i < count; i++) {
		const struct resource_attribute *a = &attributes[i];

		rows[i].key = string_table_add(p->strings, a->key, strlen(a->key));
		rows[i].is_integer = a->is_integer;
		if (a->is_integer)
			rows[i].number = a->number;
		else
			rows[i].value = string_table_add(p->strings, a->value, strlen(a->value));
	}
	return count;
}

uint32_t profile_add_resource(struct profile *p, const struct resource_attribute *attributes,
			      size_t count)
{
	struct profile_attribute rows[PROFILE_ATTRIBUTES_MAX];
	uint32_t handle;

	count = add_attributes(p, attributes, count, rows);
	return profile_intern_resource(p, rows, count, &handle) ? 0 : handle;
}

int profile_rename_resource(struct profile *p, const struct resource_attribute *was,
			    size_t was_count, const struct resource_attribute *is, size_t is_count)
{
	struct profile_attribute before[PROFILE_ATTRIBUTES_MAX], now[PROFILE_ATTRIBUTES_MAX];
	struct profile_resource heads[2] = {
		{.attribute_count = (uint32_t)add_attributes(p, was, was_count, before)},
		{.attribute_count = (uint32_t)add_attributes(p, is, is_count, now)},
	};
	struct table_list from = resource_list(&heads[0], before);
	struct table_list to = resource_list(&heads[1], now);

	return table_replace_list(&p->resources, &p->attributes, &from, &to);
}

int profile_add_stack(struct profile *p, const struct sample_input *sample, uint32_t *stack)
{
	uint32_t locations[PROFILE_DEPTH_MAX];
	struct profile_stack head;
	size_t depth = 0;

	memset(&head, 0, sizeof(head)); /* rows are compared as bytes */
	head.truncated = sample->truncated;
	for (size_t i = 0; i < sample->location_count; i++) {
		int err;

		if (depth == PROFILE_DEPTH_MAX) {
			head.truncated = true;
			break;
		}
		err = profile_take_location(p, sample->locations[i], &locations[depth]);
		if (err)
			return err;
		if (locations[depth])
			depth++;
	}
	head.location_count = (uint32_t)depth;
	return profile_intern_stack(p, &head, locations, stack);
}

int profile_add_to_stack(struct profile *p, const struct sample_input *sample, uint32_t stack)
{
	struct profile_sample key;
	int err;

	memset(&key, 0, sizeof(key));
	key.stack = stack;
	key.resource = sample->resource < p->resources.count ? sample->resource : 0;
	key.span = spans_get(p->spans, sample->span) ? sample->span : 0;
	err = profile_count(p, &key, sample->count);
	if (err)
		p->dropped += sample->count;
	else if (sample->span == PROFILE_SPAN_UNSAMPLED)
		p->unsampled += sample->count;
	else if (sample->span && !key.span)
		p->untagged += sample->count;
	return err;
}

int profile_add(struct profile *p, const struct sample_input *sample)
{
	uint32_t stack;
	int err = profile_add_stack(p, sample, &stack);

	if (!err)
		return profile_add_to_stack(p, sample, stack);
	profile_drop(p, sample->count);
	return err;
}

void profile_drop(struct profile *p, uint64_t count)
{
	p->dropped += count;
}

void profile_set_end(struct profile *p, uint64_t end_wall_ns)
{
	p->end_wall_ns = end_wall_ns;
}

void profile_cover(struct profile *p, uint64_t start_wall_ns, uint64_t end_wall_ns)
{
	if (p->end_wall_ns && start_wall_ns > p->end_wall_ns)
		p->gaps_ns += start_wall_ns - p->end_wall_ns;
	if (start_wall_ns && end_wall_ns < p->start_wall_ns)
		p->gaps_ns += p->start_wall_ns - end_wall_ns;
	if (start_wall_ns && (!p->start_wall_ns || start_wall_ns < p->start_wall_ns))
		p->start_wall_ns = start_wall_ns;
	if (end_wall_ns > p->end_wall_ns)
		p->end_wall_ns = end_wall_ns;
}

void profile_set_gaps(struct profile *p, uint64_t ns)
{
	p->gaps_ns = ns;
}

struct spans *profile_get_spans(const struct profile *p)
{
	return p->spans;
}

struct string_table *profile_get_strings(const struct profile *p)
{
	return p->strings;
}

void profile_get_view(const struct profile *p, struct profile_view *view)
{
	uint64_t duration_ns =
		p->end_wall_ns > p->start_wall_ns ? p->end_wall_ns - p->start_wall_ns : 0;

	*view = (struct profile_view){
		.period_ns = p->config.period_ns,
		.start_wall_ns = p->start_wall_ns,
		.duration_ns = duration_ns,
		.covered_ns = duration_ns > p->gaps_ns ? duration_ns - p->gaps_ns : 0,
		.look_interval_ns = p->look_interval_ns,
		.mappings = (const void *)p->mappings.rows,
		.functions = (const void *)p->functions.rows,
		.lines = (const void *)p->lines.rows,
		.locations = (const void *)p->locations.rows,
		.stack_locations = (const void *)p->stack_locations.rows,
		.stacks = (const void *)p->stacks.rows,
		.attributes = (const void *)p->attributes.rows,
		.resources = (const void *)p->resources.rows,
		.samples = (const void *)p->samples.rows,
		.waits = (const void *)p->waits.rows,
		.mapping_count = p->mappings.count,
		.function_count = p->functions.count,
		.line_count = p->lines.count,
		.location_count = p->locations.count,
		.stack_location_count = p->stack_locations.count,
		.stack_count = p->stacks.count,
		.resource_count = p->resources.count,
		.sample_count = p->samples.count,
		.wait_count = p->waits.count,
		.dropped = p->dropped,
		.waits_dropped_ns = p->waits_dropped_ns,
		.untagged = p->untagged,
		.unsampled = p->unsampled,
		.names_lost = p->names_lost + string_table_dropped(p->strings),
	};
}
