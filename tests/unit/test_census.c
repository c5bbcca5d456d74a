/* SPDX-License-Identifier: Apache-2.0 */
/* The open spans of all goroutines of a program that says which those are. Needs root. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/binary_store.h"
#include "agent/census.h"
#include "agent/targets.h"
#include "capture_fixture.h"
#include "census_program.h"

#define GOROUTINES 14
#define GENERATION 5
#define SECOND_NS  1000000000ull

/* What the store holds. */
struct stored {
	size_t count;
	struct capture_stored_span spans[GOROUTINES * CENSUS_SPANS];
};

struct scene {
	struct census_program *program;
	struct binary binary;
	struct target target;
	struct capture *capture;
	struct stored stored;
};

static void open_store(struct scene *f, uint32_t goroutines_max)
{
	static const struct capture_handler nobody;
	struct capture_config config = usual_config();
	char why[256];

	config.goroutines_max = goroutines_max;
	assert_int_equal(capture_open(&config, &nobody, &f->capture, why, sizeof(why)), 0);
}

static int set_up(void **state)
{
	struct scene *f = calloc(1, sizeof(*f));

	f->program = census_run(NULL, GOROUTINES);
	f->binary.go = f->program->parked->binary;
	f->target = (struct target){
		.pid = f->program->parked->pid,
		.generation = GENERATION,
		.process = f->program->parked->process,
		.binary = &f->binary,
	};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *f = *state;

	census_program_end(f->program);
	free(f);
	return 0;
}

static void keep_stored(void *context, const struct capture_stored_span *span)
{
	struct stored *s = context;

	assert_true(s->count < GOROUTINES * CENSUS_SPANS);
	s->spans[s->count++] = *span;
}

static void read_store(struct scene *f)
{
	f->stored.count = 0;
	assert_int_equal(capture_each_span(f->capture, keep_stored, &f->stored), 0);
}

/* The stored spans of one goroutine are those it told of, in order. */
static void check_goroutine(const struct scene *f, const struct census_truth *t)
{
	const struct goroutine_state *g = parked_state(f->program->parked, t->goid);
	size_t count = 0;

	for (size_t i = 0; i < f->stored.count; i++) {
		const struct capture_stored_span *s = &f->stored.spans[i];
		uint8_t id[8];

		if (s->goid != t->goid)
			continue;
		if (count == t->count || memcmp(s->span_id, t->ids[count], 8))
			fail_msg("%s: span %zu is another one", t->name, count);
		count++;
		assert_int_equal(s->generation, GENERATION);
		assert_int_equal(s->older, 1);
		assert_int_equal(s->g, g->g);
		/* The ID, as it stands in the span that is pointed to. */
		assert_int_equal(
			process_read_memory(f->program->parked->process,
					    s->address + f->program->parked->info->span.context +
						    f->program->parked->info->span.context_span_id,
					    id, 8),
			0);
		assert_memory_equal(id, s->span_id, 8);
	}
	if (count != t->count)
		fail_msg("%s: %zu spans instead of %zu", t->name, count, t->count);
}

static void take(struct scene *f, struct census *out)
{
	assert_int_equal(census_begin(&f->target, out), 0);
	assert_int_equal(census_look(f->capture, &f->target, out, SECOND_NS), 0);
	assert_int_equal(out->left, 0);
}

static void test_all(void **state)
{
	struct scene *f = *state;
	struct census result;
	size_t tagged = 0, spans = 0;

	for (size_t i = 0; i < GOROUTINES; i++) {
		tagged += f->program->truth[i].count > 0;
		spans += f->program->truth[i].count;
	}
	assert_int_equal(tagged, 9);
	open_store(f, 1024);
	memset(&result, 0xa5, sizeof(result));
	take(f, &result);
	read_store(f);
	for (size_t i = 0; i < GOROUTINES; i++)
		check_goroutine(f, &f->program->truth[i]);
	assert_int_equal(f->stored.count, spans);
	assert_int_equal(result.tagged, tagged);
	assert_int_equal(result.running, 0);
	assert_int_equal(result.unstored, 0);
	assert_true(result.goroutines > GOROUTINES); /* and main, and the runtime's own */
	census_end(&result);
	/* Again: the same. */
	take(f, &result);
	assert_int_equal(result.tagged, tagged);
	read_store(f);
	assert_int_equal(f->stored.count, spans);
	census_end(&result);
	capture_close(f->capture);
}

/* When none is left, those alone that ran. */
static void test_again(void **state)
{
	struct scene *f = *state;
	struct census result = {.list = malloc(2 * sizeof(*result.list)),
				.ran = malloc(2 * sizeof(*result.ran)),
				.running = 2};

	open_store(f, 1024);
	for (size_t i = 0; i < GOROUTINES; i++) {
		if (!strcmp(f->program->truth[i].name, "one"))
			result.ran[0] =
				parked_state(f->program->parked, f->program->truth[i].goid)->g;
		if (!strcmp(f->program->truth[i].name, "none"))
			result.ran[1] =
				parked_state(f->program->parked, f->program->truth[i].goid)->g;
	}
	assert_int_equal(census_look(f->capture, &f->target, &result, SECOND_NS), 0);
	assert_int_equal(result.goroutines, 2);
	assert_int_equal(result.running, 0);
	assert_int_equal(result.left, 0);
	assert_int_equal(result.tagged, 1);
	read_store(f);
	assert_int_equal(f->stored.count, 1);
	assert_int_equal(census_look(f->capture, &f->target, &result, SECOND_NS), 0);
	assert_int_equal(result.goroutines, 2);
	census_end(&result);
	capture_close(f->capture);
}

/* Without time nothing is looked at, and nothing forgotten. */
static void test_no_time(void **state)
{
	struct scene *f = *state;
	struct census result;
	size_t all;

	open_store(f, 1024);
	assert_int_equal(census_begin(&f->target, &result), 0);
	all = result.left;
	assert_true(all > GOROUTINES);
	assert_int_equal(census_look(f->capture, &f->target, &result, 0), 0);
	assert_int_equal(result.left, all);
	assert_int_equal(result.goroutines, 0);
	assert_int_equal(census_look(f->capture, &f->target, &result, SECOND_NS), 0);
	assert_int_equal(result.left, 0);
	assert_int_equal(result.tagged, 9);
	census_end(&result);
	capture_close(f->capture);
}

/* A store with room for two goroutines. */
static void test_no_room(void **state)
{
	struct scene *f = *state;
	struct census result;

	open_store(f, 2);
	take(f, &result);
	assert_int_equal(result.tagged, 2);
	assert_int_equal(result.unstored, 7);
	census_end(&result);
	capture_close(f->capture);
}

/* The last one: its program ends. */
static void test_process_gone(void **state)
{
	struct scene *f = *state;
	struct census result;

	open_store(f, 1024);
	assert_int_equal(kill(f->target.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)f->target.pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(census_begin(&f->target, &result), -ESRCH);
	assert_null(result.list);
	read_store(f);
	assert_int_equal(f->stored.count, 0);
	capture_close(f->capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	     cmocka_unit_test(test_again),
		cmocka_unit_test(test_no_time),	     cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_process_gone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
