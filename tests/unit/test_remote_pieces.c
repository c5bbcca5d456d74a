/* SPDX-License-Identifier: Apache-2.0 */
/* Many pieces of memory at once, some of which cannot be read: our own memory, and a dead child's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "process/process.h"
#include "process/remote_pieces.h"

#define PIECES	   1000 /* of some calls' worth */
#define PIECE_SIZE 40

struct fixture {
	struct process *self;
	uint8_t from[PIECES][PIECE_SIZE], to[PIECES][PIECE_SIZE];
	struct remote_piece pieces[PIECES];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

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

static uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* Pieces of all sizes from 1 to 40 bytes, each with bytes of its own. */
static void make_pieces(struct fixture *f)
{
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t k = 0; k < PIECE_SIZE; k++)
			f->from[i][k] = (uint8_t)(i * 31 + k * 7 + i / 256 + 1);
		memset(f->to[i], 0, PIECE_SIZE);
		f->pieces[i] = (struct remote_piece){
			.address = address_of(f->from[i]),
			.to = f->to[i],
			.size = 1 + i % PIECE_SIZE,
			.read = i % 2, /* a result, whatever stood there */
		};
	}
}

/* Reads; all but those for which `is_lost` says so must have come, and no byte beyond them. */
static void check(struct fixture *f, size_t count, bool (*is_lost)(size_t))
{
	static const uint8_t untouched[PIECE_SIZE];

	for (size_t i = 0; i < count; i++)
		if (is_lost(i))
			f->pieces[i].address = 8 + i;
	assert_int_equal(remote_pieces_read(f->self, f->pieces, count), 0);
	for (size_t i = 0; i < count; i++) {
		size_t size = f->pieces[i].size;

		assert_int_equal(f->pieces[i].read, !is_lost(i));
		if (f->pieces[i].read)
			assert_memory_equal(f->to[i], f->from[i], size);
		assert_memory_equal(f->to[i] + size, untouched, PIECE_SIZE - size);
	}
	for (size_t i = count; i < PIECES; i++)
		assert_memory_equal(f->to[i], untouched, PIECE_SIZE);
}

static bool none(size_t i)
{
	return false;
}

static bool all(size_t i)
{
	return true;
}

static bool each_seventh(size_t i)
{
	return i % 7 == 0;
}

static bool in_a_row(size_t i)
{
	return i < 3 || (i > 400 && i < 500) || i == PIECES - 1;
}

/* Around the number that goes into one call. */
static bool at_the_borders(size_t i)
{
	return i == 255 || i == 256 || i == 511 || i == 513;
}

static void test_reads_what_can_be_read(void **state)
{
	bool (*const lost[])(size_t) = {none, all, each_seventh, in_a_row, at_the_borders};
	const size_t counts[] = {PIECES, 0, 1, 255, 256, 257, 512};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
			make_pieces(f);
			check(f, counts[k], lost[i]);
		}
}

/* A piece of which only the first page is there was not read, the ones around it were. */
static void test_half_of_a_piece(void **state)
{
	struct fixture *f = *state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *from =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *to = malloc(page);

	assert_true(from != MAP_FAILED);
	assert_int_equal(mprotect(from + page, page, PROT_NONE), 0);
	memset(from, 0x5a, page);
	make_pieces(f);
	f->pieces[1] = (struct remote_piece){address_of(from + page / 2), to, page, true};
	f->pieces[2] = (struct remote_piece){address_of(from + page / 2), to, page / 2, false};
	f->pieces[3] = (struct remote_piece){UINT64_MAX - 8, to, 16, true};
	f->pieces[4].size = 0;
	assert_int_equal(remote_pieces_read(f->self, f->pieces, 6), 0);
	assert_true(f->pieces[0].read);
	assert_false(f->pieces[1].read);
	assert_true(f->pieces[2].read);
	assert_memory_equal(to, from + page / 2, page / 2);
	assert_false(f->pieces[3].read);
	assert_true(f->pieces[4].read);
	assert_true(f->pieces[5].read);
	assert_memory_equal(f->to[5], f->from[5], f->pieces[5].size);
	free(to);
	munmap(from, 2 * page);
}

/* Nothing is believed of a process that is no more, be it that its number is still taken. */
static void test_process_gone(void **state)
{
	struct fixture *f = *state;
	pid_t pid = child_start(NULL);
	struct process *child;

	assert_true(pid > 0);
	assert_int_equal(process_open(pid, &child), 0);
	make_pieces(f);
	for (size_t i = 0; i < PIECES; i++)
		f->pieces[i].address = 8;
	assert_int_equal(remote_pieces_read(child, f->pieces, PIECES), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(remote_pieces_read(child, f->pieces, PIECES), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	f->pieces[0].read = true;
	assert_int_equal(remote_pieces_read(child, f->pieces, PIECES), -ESRCH);
	assert_false(f->pieces[0].read);
	assert_int_equal(remote_pieces_read(child, f->pieces, 0), -ESRCH);
	process_close(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads_what_can_be_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_half_of_a_piece, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_process_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
