/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at goroutines in this process's own memory, and what they tell. */
#ifndef UNIT_WATCHED_FIXTURE_H
#define UNIT_WATCHED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <time.h>
#include <unistd.h>

#include "fake_goroutines.h"
#include "process/process.h"
#include "waiting/looks.h"
#include "waiting/watched.h"

#define GENERATION 5

struct fixture {
	struct fake_goroutines fake;
	struct fake_goroutine *one; /* the first of them */
	struct watched *watched;
	struct wanted_list list;
	struct looks looks;
	struct record_list records;
	struct waiting_stats stats;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_goroutines_open(&f->fake);
	f->one = f->fake.all;
	fake_goroutine_fill(f->one, 100, GENERATION);
	f->records.bytes_wanted = 1 << 20;
	record_list_open(&f->records);
	assert_int_equal(
		watched_open(GENERATION, getpid(), &f->fake.info, 0, false, 0, &f->watched), 0);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	watched_close(f->watched);
	wanted_list_close(&f->list);
	record_list_free(&f->records);
	free(f);
	return 0;
}

static inline void nap(long milliseconds)
{
	nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

static inline int look_once(struct fixture *f, unsigned share)
{
	const struct watched_pass pass = {&f->list, &f->looks, share, &f->records, &f->stats};

	return watched_look(f->watched, &pass);
}

static inline void look(struct fixture *f, unsigned share)
{
	const struct waiting_source source = {&f->fake, fake_get_version, fake_each};

	assert_int_equal(wanted_list_fill(&f->list, &source), 0);
	assert_int_equal(look_once(f, share), 0);
}

static inline size_t count(const struct fixture *f)
{
	size_t n = 0;

	for (const struct waiting_record *r = f->records.first; r; r = r->next)
		n++;
	return n;
}

/* Whatever is complete by now. */
static inline const struct waiting_record *take(struct fixture *f, size_t records)
{
	watched_flush(f->watched, &f->records);
	assert_int_equal(count(f), records);
	return f->records.first;
}

static inline void forget(struct fixture *f)
{
	record_list_free(&f->records);
}

/* Two looks some time apart, and what they tell. */
static inline const struct waiting_record *look_twice(struct fixture *f, size_t records)
{
	watched_flush(f->watched, &f->records);
	forget(f);
	look(f, 1);
	nap(2);
	look(f, 1);
	return take(f, records);
}

static inline void assert_span(const struct waiting_record *r, const struct fake_span *span,
			       enum span_source source)
{
	const struct sample_span *s = &r->sample.span;

	assert_int_equal(r->sample.flags & (SAMPLE_SPAN | SAMPLE_SPAN_UNREADABLE), SAMPLE_SPAN);
	assert_int_equal(s->address, fake_address(span));
	assert_int_equal(s->source, source);
	assert_memory_equal(s->trace_id, span->context, 16);
	assert_memory_equal(s->span_id, span->context + 16, 8);
	assert_int_equal(s->trace_flags, span->context[24]);
	assert_int_equal(s->name_size, span->name_size);
	assert_int_equal(s->name_copied, span->name_size);
	assert_memory_equal(s->name, span->name, span->name_size);
}

#endif
