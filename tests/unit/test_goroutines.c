/* SPDX-License-Identifier: Apache-2.0 */
/* All goroutines of a real program that tells theirs, and of hostile memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "parked_program.h"

/* A runtime.g with fields where no version has them. */
struct own_g {
	uint64_t goid;
	uint64_t stack_low, stack_high;
	uint64_t sp, pc, fp;
	uint64_t syscall_sp, syscall_pc, syscall_fp;
	uint64_t m;
	uint64_t wait_reason;
	uint32_t status;
};

#define GS	      300 /* more than are read at a time */
#define PAGE	      4096
#define COUNT_OF(all) (sizeof(all) / sizeof(*(all)))

struct fixture {
	struct process *self;
	struct gobinary_info info;
	struct own_g g[GS];
	uint64_t pointers[GS], slice[3];
	struct goroutine_state states[GS];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->info.runtime = (struct go_runtime_offsets){
		.g_goid = offsetof(struct own_g, goid),
		.g_stack_hi = offsetof(struct own_g, stack_high),
		.g_status = offsetof(struct own_g, status),
		.g_sched_sp = offsetof(struct own_g, sp),
		.g_sched_pc = offsetof(struct own_g, pc),
		.g_sched_bp = offsetof(struct own_g, fp),
		.g_syscall_sp = offsetof(struct own_g, syscall_sp),
		.g_syscall_pc = offsetof(struct own_g, syscall_pc),
		.g_syscall_bp = offsetof(struct own_g, syscall_fp),
		.g_wait_reason = offsetof(struct own_g, wait_reason),
		.g_m = offsetof(struct own_g, m),
	};
	for (size_t i = 0; i < GS; i++) {
		f->pointers[i] = (uint64_t)(uintptr_t)&f->g[i];
		f->g[i] = (struct own_g){
			.goid = 1000 + i,
			.stack_low = 0xc000100000,
			.stack_high = 0xc000102000,
			.sp = 0xc000101f00 - 8 * i % 256,
			.pc = 0x401000 + i,
			.fp = 0xc000101f80,
			.wait_reason = 0xff00 | i % 40,
			.status = GOROUTINE_WAITING,
		};
	}
	f->slice[0] = (uint64_t)(uintptr_t)f->pointers;
	f->slice[1] = f->slice[2] = GS;
	f->info.allgs = (uint64_t)(uintptr_t)f->slice;
	assert_int_equal(process_open(getpid(), &f->self), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_close(f->self);
	free(f);
	return 0;
}

/* What a status of runtime2.go says of one. */
static void test_statuses(void **state)
{
	static const struct {
		bool exists, stands_still;
	} expected[] = {{false, false}, {true, true},  {true, false},  {true, true},
			{true, true},	{true, false}, {false, false}, {true, false},
			{true, false},	{true, false}, {true, true},   {false, false}};

	for (uint32_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct goroutine_state g = {.goid = 7, .status = i};

		assert_int_equal(goroutine_exists(&g), expected[i].exists);
		assert_int_equal(goroutine_stands_still(&g), expected[i].stands_still);
		g.goid = 0;
		assert_false(goroutine_exists(&g));
	}
}

/* Of one that ran between two readings something has changed. */
static void test_has_stayed(void **state)
{
	const struct goroutine_state g = {
		.goid = 7, .status = GOROUTINE_WAITING, .sp = 0x1000, .pc = 0x2000};
	struct goroutine_state changed[] = {g, g, g, g};

	assert_true(goroutine_has_stayed(&g, &changed[0]));
	changed[0].goid = 8;
	changed[1].status = GOROUTINE_RUNNABLE;
	changed[2].sp += 8;
	changed[3].pc += 1;
	for (size_t i = 0; i < sizeof(changed) / sizeof(*changed); i++)
		assert_false(goroutine_has_stayed(&g, &changed[i]));
}

/* Each goroutine that told of itself is there once, in its state, where it was left. */
static void test_real_program(void **state)
{
	struct parked *p = parked_start();
	uint64_t *list;
	size_t dead = 0, count;
	char name[512];

	assert_true(p->count >= PARKED_CROWD + 5);
	for (size_t i = 0; i < PARKED_LINES; i++) {
		const struct parked_line *line = &p->lines[i];
		const struct goroutine_state *g = parked_state(p, line->goid);
		size_t seen = 0;

		for (size_t k = 0; k < p->count; k++)
			seen += p->states[k].goid == line->goid &&
				p->states[k].status != GOROUTINE_DEAD;
		assert_int_equal(seen, strcmp(line->name, "gone") != 0);
		if (!seen)
			continue;
		assert_true(g->sp > g->stack_low && g->sp < g->stack_high);
		if (!strcmp(line->name, "main")) {
			assert_int_equal(line->goid, 1);
			assert_int_equal(g->status, GOROUTINE_SYSCALL);
			assert_true(g->in_syscall && g->m);
			assert_true(g->fp > g->sp && g->fp < g->stack_high); /* from Go 1.23 */
			assert_memory_equal(parked_function(p, g->pc, name, sizeof(name)),
					    "syscall.", 8);
		} else {
			assert_int_equal(g->status, GOROUTINE_WAITING);
			assert_true(g->fp > g->sp && g->fp < g->stack_high);
			assert_false(g->in_syscall);
			assert_int_equal(g->m, 0);
			assert_string_equal(parked_function(p, g->pc, name, sizeof(name)),
					    "runtime.gopark");
		}
	}
	for (size_t i = 0; i < p->count; i++) {
		assert_int_equal(p->states[i].g, p->list[i]);
		dead += p->states[i].status == GOROUTINE_DEAD;
	}
	assert_true(dead > 0 && dead <= PARKED_GONE);
	/* No more than are asked for, from the beginning. */
	assert_int_equal(goroutines_list(p->process, p->info, 0, 10, &list, &count), 0);
	assert_int_equal(count, 10);
	assert_memory_equal(list, p->list, 10 * sizeof(*list));
	free(list);
	/* Nothing of a process that is no more. */
	assert_int_equal(kill(p->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)p->pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(goroutines_list(p->process, p->info, 0, 10, &list, &count), -ESRCH);
	assert_null(list);
	assert_int_equal(goroutines_read(p->process, p->info, p->list, 10, p->states), -ESRCH);
	parked_end(p);
}

static int list(struct fixture *f, size_t max, uint64_t **found, size_t *count)
{
	return goroutines_list(f->self, &f->info, 0, max, found, count);
}

static void test_slices(void **state)
{
	struct fixture *f = *state;
	uint64_t *found;
	size_t count;

	assert_int_equal(list(f, 4096, &found, &count), 0);
	assert_int_equal(count, GS);
	assert_memory_equal(found, f->pointers, sizeof(f->pointers));
	free(found);
	f->info.allgs -= 0x4000;
	assert_int_equal(goroutines_list(f->self, &f->info, 0x4000, GS, &found, &count), 0);
	assert_int_equal(count, GS);
	free(found);
	f->info.allgs += 0x4000;
	/* The length is of the new array, the pointer of the old one, which has room for 7. */
	f->slice[2] = 7;
	assert_int_equal(list(f, 4096, &found, &count), 0);
	assert_int_equal(count, 7);
	assert_memory_equal(found, f->pointers, 7 * sizeof(*found));
	free(found);
	f->slice[1] = f->slice[2] = UINT64_MAX;
	assert_int_equal(list(f, GS - 1, &found, &count), 0);
	assert_int_equal(count, GS - 1);
	free(found);
	f->slice[1] = 0;
	f->slice[0] = 8;
	assert_int_equal(list(f, 4096, &found, &count), 0);
	assert_int_equal(count, 0);
	free(found);
	f->slice[1] = 1;
	assert_int_equal(list(f, 4096, &found, &count), -EFAULT);
	assert_null(found);
	f->info.allgs = 8;
	assert_int_equal(list(f, 4096, &found, &count), -EFAULT);
	assert_null(found);
	f->info.allgs = 0;
	assert_int_equal(list(f, 4096, &found, &count), -ENOTSUP);
	f->info.allgs = (uint64_t)(uintptr_t)f->slice;
	f->info.runtime.g_status = 0;
	assert_int_equal(list(f, 4096, &found, &count), -ENOTSUP);
	assert_null(found);
}

static void read_all(struct fixture *f)
{
	memset(f->states, 0xa5, sizeof(f->states));
	assert_int_equal(goroutines_read(f->self, &f->info, f->pointers, GS, f->states), 0);
}

static void test_fields(void **state)
{
	struct fixture *f = *state;
	const struct goroutine_state *g = f->states;

	f->g[1].status = GOROUTINE_WAITING | 0x1000; /* the collector looks at it */
	f->g[2].status = GOROUTINE_SYSCALL;
	f->g[2].syscall_sp = 0xc000101000;
	f->g[2].syscall_pc = 0x402000;
	f->g[2].m = 0xc000700000;
	f->pointers[3] = 8;
	f->pointers[GS - 1] = UINT64_MAX - 8;
	read_all(f);
	for (size_t i = 0; i < GS; i++) {
		assert_int_equal(g[i].g, f->pointers[i]);
		if (i == 3 || i == GS - 1) {
			assert_int_equal(g[i].goid, 0);
			continue;
		}
		assert_int_equal(g[i].goid, 1000 + i);
		assert_int_equal(g[i].stack_low, 0xc000100000);
		assert_int_equal(g[i].stack_high, 0xc000102000);
		if (i == 2)
			continue;
		assert_int_equal(g[i].status, GOROUTINE_WAITING);
		assert_int_equal(g[i].sp, 0xc000101f00 - 8 * i % 256);
		assert_int_equal(g[i].pc, 0x401000 + i);
		assert_int_equal(g[i].fp, 0xc000101f80);
		assert_int_equal(g[i].wait_reason, i % 40);
		assert_int_equal(g[i].m, 0);
		assert_false(g[i].in_syscall);
	}
	assert_int_equal(g[2].status, GOROUTINE_SYSCALL);
	assert_int_equal(g[2].sp, 0xc000101000);
	assert_int_equal(g[2].pc, 0x402000);
	assert_int_equal(g[2].fp, 0);
	assert_int_equal(g[2].m, 0xc000700000);
	assert_true(g[2].in_syscall);
	f->g[2].syscall_fp = 0xc000101080;
	read_all(f);
	assert_int_equal(g[2].fp, 0xc000101080);
	/* What a version does not have. */
	f->info.runtime.g_syscall_bp = f->info.runtime.g_wait_reason = 0;
	read_all(f);
	assert_int_equal(g[2].fp, 0);
	assert_int_equal(g[7].wait_reason, 0);
}

/* In any order, and where the memory between them cannot be read. */
static void test_neighbours(void **state)
{
	struct fixture *f = *state;
	uint8_t *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int32_t places[] = {0,	200,  1224,	      2249,
				  2249, 100,  2 * PAGE - 100, PAGE - 104,
				  PAGE, 8000, 2 * PAGE,	      2 * PAGE + 200};

	assert_true(pages != MAP_FAILED);
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		f->g[i].goid = 5000 + (uint64_t)places[i];
		f->pointers[i] = (uint64_t)(uintptr_t)(pages + places[i]);
		memcpy(pages + places[i], &f->g[i], sizeof(f->g[i].goid));
		memcpy(pages + places[i] + offsetof(struct own_g, stack_low), &f->g[i].stack_low,
		       5 * sizeof(uint64_t));
	}
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	read_all(f);
	munmap(pages, 3 * PAGE);
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		bool lies_in_hole =
			places[i] > PAGE - (int32_t)sizeof(struct own_g) && places[i] < 2 * PAGE;

		assert_int_equal(f->states[i].g, f->pointers[i]);
		assert_int_equal(f->states[i].goid, lies_in_hole ? 0 : f->g[i].goid);
	}
}

/* What cannot be a stack, and SP elsewhere: nothing is known of such a one. */
static void test_implausible_stacks(void **state)
{
	struct fixture *f = *state;
	struct own_g *g = f->g;
	/* Of 0 … 13: bit set where it is plausible. */
	const unsigned plausible = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 9 | 1 << 11;

	g[0].sp = g[0].stack_low;
	g[1].sp = g[1].stack_high;
	g[2].stack_low = g[2].stack_high - (1 << 30); /* as large as Go allows */
	g[3].stack_low = g[3].stack_high - (1 << 30) - 8;
	g[4].stack_low = g[4].stack_high = g[4].sp;
	g[5].stack_high = g[5].stack_low - 4096;
	g[6].sp = g[6].stack_low - 8;
	g[7].sp = g[7].stack_high + 8;
	g[8].sp += 4;
	g[9].status = GOROUTINE_RUNNING; /* its SP is an old one */
	g[9].sp = 4;
	g[10].status = GOROUTINE_RUNNING;
	g[10].stack_high = 0;
	g[11].syscall_sp = g[11].stack_low + 8; /* that counts, not the other */
	g[11].sp = 1;
	g[12].syscall_sp = 16;
	g[13].stack_low = g[13].stack_high = 0; /* a dead one whose stack was freed */
	g[13].status = GOROUTINE_DEAD;
	read_all(f);
	for (size_t i = 0; i < 14; i++)
		assert_int_equal(f->states[i].goid, plausible >> i & 1 ? 1000 + i : 0);
	assert_int_equal(f->states[13].status, GOROUTINE_DEAD);
	assert_int_equal(f->states[14].goid, 1014);
}

/* Offsets of a hostile executable: beyond what is read, or below the beginning. */
static void test_offsets_far_away(void **state)
{
	struct fixture *f = *state;

	f->info.runtime.g_goid = 1020;
	read_all(f);
	assert_int_equal(f->states[0].goid, 0);
	assert_int_equal(f->states[0].stack_low, 0xc000100000);
	f->info.runtime.g_goid = 65535;
	f->info.runtime.g_status = 65528;
	f->info.runtime.g_stack_hi = 4;
	read_all(f);
	assert_int_equal(f->states[0].goid, 0);
	assert_int_equal(f->states[0].status, 0);
	assert_int_equal(f->states[0].stack_low, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_has_stayed),
		cmocka_unit_test(test_real_program),
		cmocka_unit_test_setup_teardown(test_slices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fields, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_neighbours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_implausible_stacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_offsets_far_away, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
