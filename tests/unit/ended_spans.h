/* SPDX-License-Identifier: Apache-2.0 */
/* A store of spans of one trace, and what is asked of those that have ended. */
#ifndef TESTS_ENDED_SPANS_H
#define TESTS_ENDED_SPANS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/string_table.h"
#include "spans/span_groups.h"
#include "spans/spans.h"

#define MS 1000000ull

struct fixture {
	struct string_table *strings;
	struct spans *spans;
};

static inline void open_store(struct fixture *f, size_t spans_max)
{
	assert_int_equal(string_table_open(1 << 20, &f->strings), 0);
	assert_int_equal(spans_open(f->strings, spans_max, &f->spans), 0);
}

static inline void close_store(struct fixture *f)
{
	spans_close(f->spans);
	string_table_close(f->strings);
}

static inline uint32_t sample(struct fixture *f, uint8_t id, const char *name)
{
	struct span_sight sight = {
		.name = name,
		.name_size = strlen(name),
		.time_ns = 500,
		.value_ns = 10,
		.resource = 3,
	};

	sight.trace_id[15] = 1;
	sight.span_id[7] = id;
	return spans_add(f->spans, &sight);
}

/* A client's span with an error; each field has a value of its own. */
static inline struct span_end end_of(uint8_t id, const char *name, uint64_t duration_ns)
{
	struct span_end end = {
		.name = name,
		.name_size = strlen(name),
		.span = {.resource = 4,
			 .sampled = true,
			 .status = 1,
			 .kind = 3,
			 .start_wall_ns = 1700000000123456789ull,
			 .duration_ns = duration_ns},
	};

	end.span.trace_id[15] = 1;
	end.span.span_id[7] = id;
	end.span.parent_id[0] = 0x77;
	return end;
}

static inline void end(struct fixture *f, uint8_t id, const char *name, uint64_t duration_ns,
		       bool keep)
{
	struct span_end e = end_of(id, name, duration_ns);

	spans_end(f->spans, &e, keep);
}

static inline const char *text(const struct fixture *f, uint32_t id)
{
	return string_table_get(f->strings, id);
}

static inline void assert_ended(const struct fixture *f, uint32_t handle, uint8_t id,
				const char *name, uint64_t duration_ns)
{
	const struct span *row = spans_get(f->spans, handle);

	assert_non_null(row);
	assert_int_equal(row->handle, handle);
	assert_true(row->ended);
	assert_int_equal(row->trace_id[15], 1);
	assert_int_equal(row->span_id[7], id);
	assert_string_equal(text(f, row->name), name);
	assert_int_equal(row->resource, 4);
	assert_true(row->sampled);
	assert_int_equal(row->status, 1);
	assert_int_equal(row->kind, 3);
	assert_int_equal(row->parent_id[0], 0x77);
	assert_int_equal(row->start_wall_ns, 1700000000123456789ull);
	assert_int_equal(row->duration_ns, duration_ns);
}

static inline void assert_group(const struct fixture *f, uint32_t group, const char *name,
				uint32_t resource, uint64_t count, uint64_t errors, uint64_t sum_ns)
{
	const struct span_group *g = spans_get_group(f->spans, group);

	assert_non_null(g);
	assert_string_equal(text(f, g->name), name);
	assert_int_equal(g->resource, resource);
	assert_int_equal(g->durations.count, count);
	assert_int_equal(g->durations.sum_ns, sum_ns);
	assert_int_equal(g->errors, errors);
}

#endif
