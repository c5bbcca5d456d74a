/* SPDX-License-Identifier: Apache-2.0 */
/* What a goroutine does instead of running, in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/wait_state.h"
#include "base/location.h"
#include "parked_program.h"

static void assert_name(const struct gobinary *binary, const struct waiting_record *record,
			const char *expected)
{
	char name[WAIT_STATE_SIZE];

	wait_state_name(binary, record, name);
	assert_string_equal(name, expected);
}

static void test_names(void **state)
{
	struct parked *p = parked_start();
	const struct goroutine_state *g = parked_state(p, parked_line(p, "keeps")->goid);
	struct waiting_record record = {.state = WAITING_PARKED, .reason = g->wait_reason};

	/* As the program's own runtime calls it. */
	assert_name(p->binary, &record, "[chan receive]");
	record.reason = 0; /* of one that has not been told a reason yet */
	assert_name(p->binary, &record, "[waiting]");
	record.reason = 255;
	assert_name(p->binary, &record, "[waiting]");
	record.state = WAITING_RUNNABLE;
	assert_name(p->binary, &record, "[runnable]");
	record.state = WAITING_NO_CPU;
	assert_name(p->binary, &record, "[not on cpu]");
	record.state = WAITING_THROTTLED;
	assert_name(p->binary, &record, "[cpu throttled]");
	record.state = WAITING_SYSCALL;
	assert_name(p->binary, &record, "[syscall]");
	memcpy(record.channel, "anon_pipe_read", 15);
	assert_name(p->binary, &record, "[syscall: anon_pipe_read]");
	parked_end(p);
	for (int s = 0; s <= WAITING_THROTTLED; s++)
		assert_in_range(wait_state_kind(s), 0, PROFILE_WAIT_KINDS - 1);
	assert_int_equal(wait_state_kind(WAITING_SYSCALL), PROFILE_WAIT_SYSCALL);
}

static struct location *make(enum frame_kind kind, uint32_t count, const char *inlined,
			     const char *function)
{
	struct location *l = calloc(1, sizeof(*l) + 2 * sizeof(struct frame));

	l->kind = kind;
	l->frame_count = count;
	l->frames[0].function = inlined;
	l->frames[1].function = function;
	return l;
}

static bool hides(enum frame_kind kind, uint32_t count, const char *inlined, const char *function)
{
	struct location *l = make(kind, count, inlined, function);
	bool answer = wait_state_hides(l);

	free(l);
	return answer;
}

/* What a goroutine began with, and what that called. */
static bool is_system(enum frame_kind kind, const char *outermost, const char *leaf)
{
	struct location *stack[] = {make(FRAME_GO, 1, leaf, ""), make(kind, 1, outermost, "")};
	bool answer = wait_state_is_system((const struct location *const *)stack, 2);

	free(stack[0]);
	free(stack[1]);
	return answer;
}

static void test_system(void **state)
{
	assert_true(is_system(FRAME_GO, "runtime.bgsweep", "runtime.gopark"));
	assert_true(is_system(FRAME_GO, "runtime.runFinalizers", "internal/runtime/x.y"));
	/* It runs the program's code. */
	assert_false(is_system(FRAME_GO, "runtime.runFinalizers", "main.finalize"));
	assert_false(is_system(FRAME_GO, "runtime.main", "runtime.gopark"));
	assert_false(is_system(FRAME_GO, "runtime.handleAsyncEvent", "runtime.gopark"));
	assert_false(is_system(FRAME_GO, "runtime.corostart", "runtime.gopark"));
	assert_false(is_system(FRAME_GO, "main.f", "runtime.gopark"));
	assert_false(is_system(FRAME_GO, "runtime/trace.Start.func1", "runtime.gopark"));
	assert_false(is_system(FRAME_NATIVE, "runtime.bgsweep", "runtime.gopark"));
	assert_false(wait_state_is_system(NULL, 0));
}

static void test_hidden(void **state)
{
	assert_true(hides(FRAME_GO, 1, "runtime.gopark", ""));
	assert_true(hides(FRAME_GO, 1, "internal/runtime/sync.foo", ""));
	/* The outermost of those inlined into one another counts. */
	assert_true(hides(FRAME_GO, 2, "main.f", "runtime.chanrecv1"));
	assert_false(hides(FRAME_GO, 2, "runtime.chanrecv1", "main.f"));
	assert_false(hides(FRAME_GO, 1, "runtimes.gopark", ""));
	assert_false(hides(FRAME_GO, 1, "time.Sleep", ""));
	assert_false(hides(FRAME_GO, 0, "", ""));
	assert_false(hides(FRAME_NATIVE, 1, "runtime.gopark", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
