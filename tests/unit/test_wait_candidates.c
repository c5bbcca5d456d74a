/* SPDX-License-Identifier: Apache-2.0 */
/* For whom a blocked goroutine may wait: the rule of wait_candidates.h, case by case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/wait_candidates.h"
#include "base/location.h"

#define FRAMES_MAX 8

/* Frames are places: one object for each. */
static const struct frame lock_slow = {.function = "internal/sync.(*Mutex).lockSlow", .line = 149},
			  lock = {.function = "sync.(*Mutex).Lock", .line = 46},
			  first_lock = {.function = "main.transfer", .line = 48},
			  second_lock = {.function = "main.transfer", .line = 52},
			  in_lock = {.function = "main.transfer", .line = 60},
			  debit = {.function = "main.debit", .line = 7},
			  credit = {.function = "main.credit", .line = 17},
			  read = {.function = "net.(*conn).Read", .line = 196},
			  handle = {.function = "main.handle", .line = 90},
			  receive = {.function = "main.(*pool).get", .line = 3},
			  deliver = {.function = "main.(*pool).get.func1", .line = 9},
			  deliver_inner = {.function = "main.(*pool).get.func1.2", .line = 11},
			  other = {.function = "main.(*pool).getter", .line = 30},
			  group = {.function = "golang.org/x/sync/errgroup.(*Group).Wait"},
			  group_wait = {.function = "sync.(*WaitGroup).Wait"},
			  parks = {.function = "runtime.gopark"};

struct scene {
	struct standing all[4096];
	const struct frame *frames[4096][FRAMES_MAX];
	size_t count;
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct scene));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* Leaf first, NULL ends. */
static void add(struct scene *s, const char *reason, ...)
{
	struct standing *one = &s->all[s->count];
	const struct frame *frame;
	va_list frames;

	va_start(frames, reason);
	while ((frame = va_arg(frames, const struct frame *)))
		s->frames[s->count][one->frame_count++] = frame;
	va_end(frames);
	one->frames = s->frames[s->count++];
	one->reason = reason;
}

struct expected {
	uint32_t index;
	const struct frame *at;
};

static void expect(const struct scene *s, size_t index, size_t all, const struct expected *expected)
{
	size_t named = all < WAIT_CANDIDATES_MAX ? all : WAIT_CANDIDATES_MAX;
	struct wait_candidate found[WAIT_CANDIDATES_MAX];
	struct wait_candidates *c;

	assert_int_equal(wait_candidates_open(s->all, s->count, &c), 0);
	assert_int_equal(wait_candidates_find(c, index, found), all);
	for (size_t i = 0; i < named; i++) {
		assert_int_equal(found[i].index, expected[i].index);
		assert_ptr_equal(found[i].at, expected[i].at);
	}
	wait_candidates_close(c);
}

static void test_reasons(void **state)
{
	assert_int_equal(wait_reason_kind("sync.Mutex.Lock"), WAIT_FOR_LOCK);
	assert_int_equal(wait_reason_kind("sync.RWMutex.RLock"), WAIT_FOR_LOCK);
	assert_int_equal(wait_reason_kind("semacquire"), WAIT_FOR_LOCK);
	assert_int_equal(wait_reason_kind("chan send"), WAIT_FOR_SIGNAL);
	assert_int_equal(wait_reason_kind("select"), WAIT_FOR_SIGNAL);
	assert_int_equal(wait_reason_kind("sync.WaitGroup.Wait"), WAIT_FOR_SIGNAL);
	assert_int_equal(wait_reason_kind("sleep"), WAIT_FOR_NOTHING);
	assert_int_equal(wait_reason_kind("IO wait"), WAIT_FOR_NOTHING);
	assert_int_equal(wait_reason_kind("select (no cases)"), WAIT_FOR_NOTHING);
	assert_int_equal(wait_reason_kind(""), WAIT_FOR_NOTHING);
}

/* Who has got behind the Lock is one; who waits for it as well is none then. */
static void test_holder(void **state)
{
	struct scene *s = *state;

	add(s, "sync.Mutex.Lock", &lock_slow, &lock, &first_lock, &handle, NULL);
	add(s, "sync.Mutex.Lock", &lock_slow, &lock, &first_lock, &handle, NULL);
	add(s, "IO wait", &parks, &read, &in_lock, &handle, NULL);
	add(s, "sync.Mutex.Lock", &lock_slow, &lock, &debit, &handle, NULL);
	expect(s, 0, 1, &(struct expected){2, &in_lock});
	expect(s, 1, 1, &(struct expected){2, &in_lock});
	expect(s, 2, 0, NULL); /* it waits for nothing that a goroutine has */
}

/* Two locks in opposite order, in one function and in two. */
static void test_lock_order(void **state)
{
	struct scene *s = *state;

	add(s, "sync.Mutex.Lock", &lock_slow, &lock, &second_lock, &handle, NULL);
	expect(s, 0, 0, NULL);
	add(s, "sync.Mutex.Lock", &lock_slow, &lock, &second_lock, &handle, NULL);
	expect(s, 0, 1, &(struct expected){1, &second_lock});
	expect(s, 1, 1, &(struct expected){0, &second_lock});
	s->count = 0;
	memset(s->all, 0, sizeof(s->all));
	add(s, "sync.Mutex.Lock", &lock_slow, &lock, &debit, &handle, NULL);
	add(s, "chan receive", &parks, &receive, &handle, NULL);
	add(s, "sync.RWMutex.Lock", &lock_slow, &credit, &handle, NULL);
	expect(s, 0, 1, &(struct expected){2, &credit});
	expect(s, 2, 1, &(struct expected){0, &debit});
	/* Who waits for a message is not helped by who waits for a lock. */
	expect(s, 1, 0, NULL);
}

/* A closure is a part of the function it is written in; a longer name is another's. */
static void test_signal(void **state)
{
	struct scene *s = *state;

	add(s, "chan receive", &parks, &receive, &handle, NULL);
	add(s, "chan receive", &parks, &receive, &handle, NULL); /* who waits there does not send */
	add(s, "sleep", &parks, &deliver, NULL);
	add(s, "IO wait", &read, &deliver_inner, &deliver, NULL);
	add(s, "IO wait", &read, &other, NULL);
	expect(s, 0, 2, (struct expected[]){{2, &deliver}, {3, &deliver_inner}});
	expect(s, 1, 2, (struct expected[]){{2, &deliver}, {3, &deliver_inner}});
}

/* What waits on behalf of others is not who waits. */
static void test_group(void **state)
{
	struct scene *s = *state;

	add(s, "sync.WaitGroup.Wait", &parks, &group_wait, &group, &receive, NULL);
	add(s, "sync.WaitGroup.Wait", &parks, &group_wait, &group, &handle, NULL);
	add(s, "", &deliver, NULL);
	assert_ptr_equal(standing_user(&s->all[0]), &receive);
	assert_ptr_equal(standing_user(&s->all[2]), &deliver);
	expect(s, 0, 1, &(struct expected){2, &deliver});
	expect(s, 1, 0, NULL);
	add(s, "chan receive", &parks, NULL);
	assert_null(standing_user(&s->all[3]));
	expect(s, 3, 0, NULL);
	add(s, "chan receive", NULL);
	expect(s, 4, 0, NULL);
}

/* Of a crowd three are named, all are counted, and nobody is his own. */
static void test_crowd(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < 4095; i++)
		add(s, "sync.Mutex.Lock", &lock_slow, &lock, &first_lock, &handle, NULL);
	expect(s, 1, 4094,
	       (struct expected[]){{0, &first_lock}, {2, &first_lock}, {3, &first_lock}});
	expect(s, 4000, 4094,
	       (struct expected[]){{0, &first_lock}, {1, &first_lock}, {2, &first_lock}});
	add(s, "", &in_lock, &handle, NULL);
	expect(s, 4000, 1, &(struct expected){4095, &in_lock});
}

/* A function on a stack twice: its goroutine counts once, where it stands innermost. */
static void test_recursion(void **state)
{
	struct scene *s = *state;

	add(s, "sync.Mutex.Lock", &lock_slow, &lock, &first_lock, &in_lock, &handle, NULL);
	add(s, "sleep", &parks, &in_lock, &second_lock, &handle, NULL);
	expect(s, 0, 1, &(struct expected){1, &in_lock});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test_setup_teardown(test_holder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lock_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_signal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_crowd, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_recursion, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
