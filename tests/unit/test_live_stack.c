/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects a goroutine that stands still has in use, as its program says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "parked_stack.h"
#include "unwind/live_stack.h"

#define TAKEN_MAX  64
#define FRAMES_MAX 600

struct fixture {
	struct parked *program;
	struct parked_stack stack;
	uint64_t taken[TAKEN_MAX], unused[TAKEN_MAX]; /* those in use, and the others */
	size_t taken_count, unused_count, asked;
	uint64_t pcs[FRAMES_MAX];
	bool exact[FRAMES_MAX];
	size_t frame_count;
	struct live_stack_memo *memo;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->program = parked_start();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	parked_end(f->program);
	free(f);
	return 0;
}

static bool is_wanted(void *context, uint64_t word)
{
	struct fixture *f = context;

	f->asked++;
	return word == f->stack.line->inner || word == f->stack.line->outer;
}

static void take(void *context, const struct live_word *w)
{
	struct fixture *f = context;

	assert_true(f->taken_count < TAKEN_MAX && f->unused_count < TAKEN_MAX);
	if (w->used)
		f->taken[f->taken_count++] = w->word;
	else
		f->unused[f->unused_count++] = w->word;
}

static void enter(void *context, uint64_t pc, bool exact)
{
	struct fixture *f = context;

	assert_true(f->frame_count < FRAMES_MAX);
	f->pcs[f->frame_count] = pc;
	f->exact[f->frame_count++] = exact;
}

static void look(struct fixture *f, uint64_t pc, uint64_t sp, const uint64_t *words, size_t count)
{
	const struct still_stack stack = {pc, {sp, (const __u64 *)words, count}};
	const struct live_stack_query query = {f, is_wanted, take, enter, f->memo};

	f->taken_count = f->unused_count = f->asked = f->frame_count = 0;
	live_stack_each(f->program->binary, 0, &stack, &query);
}

static void look_at_all(struct fixture *f)
{
	look(f, f->stack.g->pc, f->stack.g->sp, f->stack.words, f->stack.count);
}

/* How many of those taken first are this one. */
static size_t leading(const struct fixture *f, uint64_t word)
{
	size_t count = 0;

	while (count < f->taken_count && f->taken[count] == word)
		count++;
	return count;
}

static bool is_unused(const struct fixture *f, uint64_t word)
{
	for (size_t i = 0; i < f->unused_count; i++)
		if (f->unused[i] == word)
			return true;
	return false;
}

static bool is_taken(const struct fixture *f, uint64_t word)
{
	for (size_t i = 0; i < f->taken_count; i++)
		if (f->taken[i] == word)
			return true;
	return false;
}

static bool stands_there(const struct parked_stack *s, uint64_t word)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->words[i] == word)
			return true;
	return false;
}

/* All but the outermost, in which every stack ends. */
static void test_frames(void **state)
{
	struct fixture *f = *state;
	const struct unwound_stack *u = &f->stack.unwound;

	for (size_t i = 0; i < PARKED_CASES; i++) {
		parked_stack_read(f->program, parked_cases[i].name, &f->stack);
		look_at_all(f);
		assert_int_equal(f->frame_count, u->count);
		assert_int_equal(f->pcs[0], f->stack.g->pc);
		assert_memory_equal(f->pcs + 1, u->pcs, (u->count - 1) * sizeof(*u->pcs));
		for (size_t k = 0; k < f->frame_count; k++)
			assert_false(f->exact[k]);
	}
}

/* With a memo of its own stack, of others, and of all together, a stack is what it was without. */
static void test_memo(void **state)
{
	struct fixture *f = *state, *without = calloc(1, sizeof(*without));

	f->memo = calloc(1, sizeof(*f->memo));
	without->program = f->program;
	for (size_t i = 0; i < 2 * PARKED_CASES + 1; i++) {
		const char *name = parked_cases[i % PARKED_CASES].name;

		parked_stack_read(f->program, name, &f->stack);
		parked_stack_read(f->program, name, &without->stack);
		look_at_all(f);
		look_at_all(without);
		assert_true(f->taken_count > 0);
		assert_int_equal(f->taken_count, without->taken_count);
		assert_memory_equal(f->taken, without->taken, f->taken_count * sizeof(*f->taken));
		assert_int_equal(f->unused_count, without->unused_count);
		assert_memory_equal(f->unused, without->unused,
				    f->unused_count * sizeof(*f->unused));
		assert_int_equal(f->frame_count, without->frame_count);
		assert_memory_equal(f->pcs, without->pcs, f->frame_count * sizeof(*f->pcs));
	}
	free(f->memo);
	f->memo = NULL;
	free(without);
}

/* The inner frame's objects first, then its caller's, and nothing else. */
static void test_what_is_in_use(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < PARKED_CASES; i++) {
		const struct parked_case *c = &parked_cases[i];
		size_t first;

		parked_stack_read(f->program, c->name, &f->stack);
		assert_true(stands_there(&f->stack, f->stack.line->inner));
		assert_true(stands_there(&f->stack, f->stack.line->outer));
		look_at_all(f);
		first = leading(f, f->stack.line->inner);
		assert_int_equal(first > 0, c->inner);
		if (!c->inner)
			assert_true(is_unused(f, f->stack.line->inner));
		assert_true(f->taken_count > first);
		for (size_t k = first; k < f->taken_count; k++)
			assert_int_equal(f->taken[k], f->stack.line->outer);
	}
}

/* Of all words up to the outermost frame. */
static void test_asks_of_every_word(void **state)
{
	struct fixture *f = *state;
	uint64_t end;

	parked_stack_read(f->program, "keeps", &f->stack);
	look_at_all(f);
	end = f->stack.starts[parked_frame(f->program, &f->stack, "runtime.goexit") + 1];
	assert_true(f->asked >= (end - f->stack.g->sp) / 8);
}

/* A copy that ends within a frame: what lies in the frames before it is known all the same. */
static void test_cut(void **state)
{
	struct fixture *f = *state;
	uint32_t frame;
	uint64_t *cut;
	size_t words;

	parked_stack_read(f->program, "keeps", &f->stack);
	frame = parked_frame(f->program, &f->stack, "main.around");
	/* keeps ends where around begins; one word more, and one less. */
	words = (f->stack.starts[frame + 1] - f->stack.g->sp) / 8;
	for (size_t count = 0; count <= words + 1; count++) {
		cut = malloc(count * sizeof(*cut) + 1); /* the sanitizer sees a look beyond it */
		memcpy(cut, f->stack.words, count * sizeof(*cut));
		look(f, f->stack.g->pc, f->stack.g->sp, cut, count);
		free(cut);
		assert_false(is_taken(f, f->stack.line->outer));
		if (count >= words)
			assert_true(is_taken(f, f->stack.line->inner));
		if (!count)
			assert_int_equal(f->asked, 0);
	}
}

/* Registers of a goroutine that never was. */
static void test_hostile(void **state)
{
	struct fixture *f = *state;
	uint64_t pc, sp, before;

	parked_stack_read(f->program, "keeps", &f->stack);
	pc = f->stack.g->pc;
	sp = f->stack.g->sp;
	look(f, 0, sp, f->stack.words, f->stack.count);
	assert_int_equal(f->asked, 0);
	look(f, f->program->info->text_end + 100, sp, f->stack.words, f->stack.count);
	assert_int_equal(f->asked, 0);
	/* The end of all addresses lies within the stack: nothing begins anew at 0. */
	before = f->stack.starts[parked_frame(f->program, &f->stack, "main.around") + 1] - sp;
	for (uint64_t bytes = 8; bytes < before; bytes += 8) {
		look(f, pc, 0 - bytes, f->stack.words, f->stack.count);
		assert_false(is_taken(f, f->stack.line->outer));
	}
	look(f, pc, 0ull - 8 * f->stack.count - 4096, f->stack.words, f->stack.count);
	assert_true(is_taken(f, f->stack.line->outer));
	/* Return addresses that all lead to one function: it ends. */
	for (size_t i = 0; i < f->stack.count; i++)
		f->stack.words[i] = pc;
	look_at_all(f);
	assert_int_equal(f->taken_count, 0);
}

/* In its loop a goroutine counts in its object. */
static bool is_in_loop(const struct parked *p, const struct parked_line *line)
{
	uint64_t count = 0;

	return line->inner && !process_read_memory(p->process, line->inner, &count, 8) && count;
}

/* The one that is not on the program's only thread, interrupted in its loop; NULL not now. */
static const struct parked_line *interrupted(const struct parked *p)
{
	for (size_t i = 0; i < PARKED_SPINNING; i++) {
		const struct goroutine_state *g = parked_state(p, p->lines[i].goid);
		char name[512];

		if (g && g->status == GOROUTINE_RUNNABLE && is_in_loop(p, &p->lines[i]) &&
		    !strcmp(parked_function(p, g->pc, name, sizeof(name)), "runtime.asyncPreempt2"))
			return &p->lines[i];
	}
	return NULL;
}

/*
 * Between any two instructions no map says what is in use: in such a frame nothing is told to be,
 * behind it all is as ever.
 */
static void test_interrupted(void **state)
{
	struct parked *p = parked_run("spins", PARKED_SPINNING);
	uint64_t limit_ns = clock_monotonic_ns() + PARKED_PATIENCE_S * 1000000000ull;
	struct fixture *f = calloc(1, sizeof(*f));
	const struct parked_line *line = NULL;
	size_t loops = 0;

	f->program = p;
	while (!line) {
		assert_true(clock_monotonic_ns() < limit_ns);
		kill(p->pid, SIGCONT);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		kill(p->pid, SIGSTOP);
		assert_int_equal(waitid(P_PID, (id_t)p->pid, &(siginfo_t){0}, WSTOPPED), 0);
		parked_look(p);
		line = interrupted(p);
	}
	parked_words_read(p, line, &f->stack);
	look_at_all(f);
	assert_false(is_taken(f, f->stack.line->inner));
	assert_true(is_unused(f, f->stack.line->inner));
	assert_true(is_taken(f, f->stack.line->outer));
	/* What it executes next is no return address, unlike all others. */
	for (size_t i = 0; i < f->frame_count; i++) {
		char name[512];

		parked_function(p, f->pcs[i] - !f->exact[i], name, sizeof(name));
		assert_int_equal(f->exact[i], !strcmp(name, "main.spins"));
		loops += f->exact[i];
	}
	assert_int_equal(loops, 1);
	free(f);
	parked_end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_in_use),
		cmocka_unit_test(test_asks_of_every_word),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_memo),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
