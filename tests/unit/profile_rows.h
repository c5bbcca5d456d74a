/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as sorted lines of text, so that two that say the same are equal. */
#ifndef UNIT_PROFILE_ROWS_H
#define UNIT_PROFILE_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "base/string_table.h"
#include "profile/profile.h"
#include "spans/spans.h"

#define PROFILE_ROWS_MAX 1000

static inline void describe_location(const struct profile *p, const struct profile_view *v,
				     uint32_t at, struct buffer *out)
{
	const struct string_table *texts = profile_get_strings(p);
	const struct profile_location *l = &v->locations[at];
	const struct profile_mapping *m = &v->mappings[l->mapping];

	buffer_printf(out, " %llx kind %d", (unsigned long long)l->address, l->kind);
	if (l->mapping)
		buffer_printf(
			out, " in %s %llx-%llx+%llx %s %s", string_table_get(texts, m->file),
			(unsigned long long)m->memory_start, (unsigned long long)m->memory_limit,
			(unsigned long long)m->file_offset, string_table_get(texts, m->build_id_go),
			string_table_get(texts, m->build_id_gnu));
	for (uint32_t i = 0; i < l->line_count; i++) {
		const struct profile_line *line = &v->lines[l->first_line + i];
		const struct profile_function *f = &v->functions[line->function];

		buffer_printf(out, " | %s %s:%u from %u", string_table_get(texts, f->name),
			      string_table_get(texts, f->file), line->line, f->start_line);
	}
}

/* Who, whose span, and where; "-" for no span. */
static inline void describe_sample(const struct profile *p, const struct profile_view *v,
				   const struct profile_sample *s, struct buffer *out)
{
	const struct string_table *texts = profile_get_strings(p);
	const struct span *span = spans_get(profile_get_spans(p), s->span);
	const struct profile_stack *stack = &v->stacks[s->stack];
	char trace_id[33] = "-", span_id[17] = "-";

	if (span) {
		hex_write(span->trace_id, 16, trace_id);
		hex_write(span->span_id, 8, span_id);
	}
	buffer_printf(out, "%s %s %s '%s'%s:",
		      string_table_get(texts, profile_get_service(p, s->resource)), trace_id,
		      span_id, span ? string_table_get(texts, span->name) : "",
		      span && span->sampled ? " sampled" : "");
	for (uint32_t i = 0; i < stack->location_count; i++)
		describe_location(p, v, v->stack_locations[stack->first_location + i], out);
	buffer_add(out, "\n", 2);
}

static inline int compare_rows(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* What pprof has a place for; the caller frees it. */
static inline char *describe_profile(const struct profile *p)
{
	char *rows[PROFILE_ROWS_MAX], *text;
	struct profile_view v;
	size_t count = 0;
	struct buffer b;

	profile_get_view(p, &v);
	buffer_open(&b, 4 << 20);
	for (size_t i = 1; i < v.sample_count; i++) {
		buffer_printf(&b, "%llu samples, ", (unsigned long long)v.samples[i].count);
		describe_sample(p, &v, &v.samples[i], &b);
	}
	for (size_t i = 1; i < v.wait_count; i++) {
		const struct profile_wait *w = &v.waits[i];
		const struct profile_sample same = {w->stack, w->resource, w->span, 0};

		buffer_printf(&b, "%llu ns of kind %u, ", (unsigned long long)w->ns, w->kind);
		describe_sample(p, &v, &same, &b);
	}
	assert_false(b.failed);
	for (size_t at = 0; at < b.size; at += strlen((char *)b.data + at) + 1) {
		assert_true(count < PROFILE_ROWS_MAX);
		rows[count++] = (char *)b.data + at;
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	text = calloc(1, b.size + 100);
	sprintf(text, "from %llu for %llu, period %llu\n", (unsigned long long)v.start_wall_ns,
		(unsigned long long)v.duration_ns, (unsigned long long)v.period_ns);
	for (size_t i = 0; i < count; i++)
		strcat(text, rows[i]);
	buffer_close(&b);
	return text;
}

static inline void assert_profile_is(const struct profile *p, const char *wanted)
{
	char *text = describe_profile(p);

	assert_string_equal(text, wanted);
	free(text);
}

static inline void assert_profiles_equal(const struct profile *a, const struct profile *b)
{
	char *wanted = describe_profile(b);

	assert_profile_is(a, wanted);
	free(wanted);
}

#endif
