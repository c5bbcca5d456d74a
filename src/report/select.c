/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the filtered profile through profile_add, the way the agent fills one. */
#include "report/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "report/report.h"
#include "report/report_view.h"
#include "spans/spans.h"

/* What profile.c allows per distinct sample; the copy must never be tighter than its source. */
#define STACK_LOCATIONS_PER_SAMPLE 96
#define LOCATIONS_PER_SAMPLE	   4
#define FUNCTIONS_PER_SAMPLE	   4
#define LINES_PER_SAMPLE	   8
#define STRING_OVERHEAD_BYTES	   64

struct selection {
	struct report_view view;
	struct profile *to;
	struct frame_mapping *mappings; /* by row of `from` */
	struct location **locations;	/* the same, made when first needed */
	uint32_t *resources, *spans;	/* handle in `from` → handle in `to` */
	const struct location **stack;	/* scratch */
	size_t stack_capacity;
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t string_bytes(const struct report_view *v)
{
	uint32_t i, count = string_table_count(v->strings);
	size_t bytes = 65536;

	for (i = 0; i < count; i++)
		bytes += strlen(string_table_get(v->strings, i)) + STRING_OVERHEAD_BYTES;
	return bytes;
}

static int open_target(struct selection *s)
{
	const struct profile_view *p = &s->view.profile;
	struct profile_config config = {.period_ns = p->period_ns};
	int err;

	config.samples_max = larger(larger(p->sample_count, p->wait_count), p->stack_count);
	config.samples_max = larger(config.samples_max,
				    p->stack_location_count / STACK_LOCATIONS_PER_SAMPLE + 1);
	config.samples_max =
		larger(config.samples_max, p->location_count / LOCATIONS_PER_SAMPLE + 1);
	config.samples_max =
		larger(config.samples_max, p->function_count / FUNCTIONS_PER_SAMPLE + 1);
	config.samples_max = larger(config.samples_max, p->line_count / LINES_PER_SAMPLE + 1);
	config.strings_bytes_max = string_bytes(&s->view);
	/* Half of the room is for spans with samples. */
	config.spans_max = 2 * (size_t)spans_count(s->view.spans) + 2;
	err = profile_open(&config, p->start_wall_ns, &s->to);
	if (!err)
		profile_set_end(s->to, p->start_wall_ns + p->duration_ns);
	if (!err)
		profile_set_gaps(s->to, p->duration_ns - p->covered_ns);
	if (!err)
		profile_set_look_interval(s->to, p->look_interval_ns);
	return err;
}

static int open_maps(struct selection *s)
{
	const struct profile_view *p = &s->view.profile;
	size_t i;

	for (i = 0; i < p->stack_count; i++)
		s->stack_capacity = larger(s->stack_capacity, p->stacks[i].location_count);
	s->mappings = calloc(p->mapping_count + 1, sizeof(*s->mappings));
	s->locations = calloc(p->location_count + 1, sizeof(*s->locations));
	s->resources = calloc(p->resource_count + 1, sizeof(*s->resources));
	s->spans = calloc((size_t)spans_count(s->view.spans) + 1, sizeof(*s->spans));
	s->stack = calloc(s->stack_capacity + 1, sizeof(*s->stack));
	if (!s->mappings || !s->locations || !s->resources || !s->spans || !s->stack)
		return -ENOMEM;
	for (i = 1; i < p->mapping_count; i++) {
		s->mappings[i] = (struct frame_mapping){
			.id = i,
			.memory_start = p->mappings[i].memory_start,
			.memory_limit = p->mappings[i].memory_limit,
			.file_offset = p->mappings[i].file_offset,
			.file = report_view_string(&s->view, p->mappings[i].file),
			.build_id_go = report_view_string(&s->view, p->mappings[i].build_id_go),
			.build_id_gnu = report_view_string(&s->view, p->mappings[i].build_id_gnu),
		};
	}
	return 0;
}

static void close_all(struct selection *s)
{
	size_t i;

	for (i = 0; s->locations && i < s->view.profile.location_count; i++)
		free(s->locations[i]);
	free(s->stack);
	free(s->spans);
	free(s->resources);
	free(s->locations);
	free(s->mappings);
	report_view_close(&s->view);
}

static struct frame make_frame(const struct report_view *v, const struct profile_line *line)
{
	const struct profile_function *function = &v->profile.functions[line->function];

	return (struct frame){
		.function = report_view_string(v, function->name),
		.file = report_view_string(v, function->file),
		.line = line->line,
		.start_line = function->start_line,
	};
}

/* The location of a row, made once. NULL: out of memory. */
static const struct location *get_location(struct selection *s, uint32_t row)
{
	const struct profile_view *p = &s->view.profile;
	const struct profile_location *from = &p->locations[row];
	struct location *made = s->locations[row];
	uint32_t i;

	if (made)
		return made;
	made = calloc(1, sizeof(*made) + from->line_count * sizeof(struct frame));
	if (!made)
		return NULL;
	made->id = row;
	made->address = from->address;
	made->mapping = from->mapping ? &s->mappings[from->mapping] : NULL;
	made->kind = from->kind;
	made->frame_count = from->line_count;
	for (i = 0; i < from->line_count; i++)
		made->frames[i] = make_frame(&s->view, &p->lines[from->first_line + i]);
	s->locations[row] = made;
	return made;
}

static int copy_resource(struct selection *s, uint32_t row)
{
	const struct profile_view *p = &s->view.profile;
	const struct profile_resource *from = &p->resources[row];
	const struct profile_attribute *attribute;
	struct resource_attribute *attributes;
	uint32_t i;

	if (!row || s->resources[row])
		return 0;
	attributes = calloc(from->attribute_count + 1, sizeof(*attributes));
	if (!attributes)
		return -ENOMEM;
	for (i = 0; i < from->attribute_count; i++) {
		attribute = &p->attributes[from->first_attribute + i];
		attributes[i] = (struct resource_attribute){
			.key = report_view_string(&s->view, attribute->key),
			.value = report_view_string(&s->view, attribute->value),
			.number = attribute->number,
			.is_integer = attribute->is_integer,
		};
	}
	s->resources[row] = profile_add_resource(s->to, attributes, from->attribute_count);
	free(attributes);
	return 0;
}

static void copy_span(struct selection *s, uint32_t handle, uint32_t resource)
{
	const struct span *from = spans_get(s->view.spans, handle);
	struct span span;

	if (!from || s->spans[handle])
		return;
	span = *from;
	span.resource = resource;
	s->spans[handle] = spans_absorb(profile_get_spans(s->to), &span,
					report_view_string(&s->view, from->name));
}

/* What a sample is made of, in the new profile. */
static int copy_input(struct selection *s, const struct profile_sample *from,
		      struct sample_input *to)
{
	const struct profile_view *p = &s->view.profile;
	const struct profile_stack *stack = &p->stacks[from->stack];
	uint32_t i;
	int err = copy_resource(s, from->resource);

	if (err)
		return err;
	*to = (struct sample_input){
		.locations = s->stack,
		.location_count = stack->location_count,
		.truncated = stack->truncated,
		.resource = s->resources[from->resource],
		.count = from->count,
	};
	copy_span(s, from->span, to->resource);
	if (from->span)
		to->span = s->spans[from->span] ? s->spans[from->span] : PROFILE_SPAN_LOST;
	for (i = 0; i < stack->location_count; i++) {
		s->stack[i] = get_location(s, p->stack_locations[stack->first_location + i]);
		if (!s->stack[i])
			return -ENOMEM;
	}
	return 0;
}

static int copy_sample(struct selection *s, const struct profile_sample *from)
{
	struct sample_input sample;
	int err = copy_input(s, from, &sample);

	if (!err)
		err = profile_add(s->to, &sample);
	return err == -ENOSPC ? 0 : err; /* counted as dropped */
}

static int copy_wait(struct selection *s, const struct profile_wait *from)
{
	const struct profile_sample same = {from->stack, from->resource, from->span, 0};
	struct sample_input sample;
	int err = copy_input(s, &same, &sample);

	if (!err)
		err = profile_add_wait(s->to, &sample, from->kind, from->ns);
	return err == -ENOSPC ? 0 : err; /* counted as dropped */
}

int report_select(const struct profile *from, const struct report_options *filter,
		  struct profile **out)
{
	struct selection s = {0};
	size_t i;
	int err;

	*out = NULL;
	err = report_view_open(from, filter, &s.view);
	if (err)
		return err;
	err = open_target(&s);
	if (!err)
		err = open_maps(&s);
	for (i = 0; !err && i < s.view.chosen_count; i++)
		err = copy_sample(&s, &s.view.profile.samples[s.view.chosen[i]]);
	for (i = 0; !err && i < s.view.wait_count; i++)
		err = copy_wait(&s, &s.view.profile.waits[s.view.waits[i]]);
	if (err)
		profile_close(s.to);
	else
		*out = s.to;
	close_all(&s);
	return err;
}
