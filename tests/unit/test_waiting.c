/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that looks: its pace, its records, and reads that never return. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_goroutines.h"

#define GENERATION  5
#define OTHER	    6
#define PAGE	    4096
#define PATIENCE_NS 10000000000ull
#define TURNS_NS    20000000ull /* in which all have their turns at first */

struct fixture {
	struct fake_goroutines fake;
	struct waiting *waiting;
	uint64_t sum_ns[FAKE_GOROUTINES]; /* of what was taken, by goid - 1000 */
	size_t records;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_goroutines_open(&f->fake);
	for (size_t i = 0; i < FAKE_GOROUTINES; i++)
		fake_goroutine_fill(&f->fake.all[i], 1000 + i, GENERATION);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void begin(struct fixture *f, double hz, double cpu_share, size_t records_bytes)
{
	const struct waiting_config config = {
		.source = {&f->fake, fake_get_version, fake_each},
		.frequency_hz = hz,
		.cpu_share = cpu_share,
		.records_bytes = records_bytes,
	};

	assert_int_equal(waiting_open(&config, &f->waiting), 0);
	assert_int_equal(waiting_add(f->waiting, GENERATION, getpid(), &f->fake.info, 0), 0);
}

static void nap(long milliseconds)
{
	nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static void take(struct fixture *f)
{
	for (struct waiting_record *r = waiting_take(f->waiting), *next; r; r = next) {
		next = r->next;
		assert_in_range(r->sample.goid, 1000, 1000 + FAKE_GOROUTINES - 1);
		f->sum_ns[r->sample.goid - 1000] += r->duration_ns;
		f->records++;
		free(r);
	}
}

static struct waiting_stats stats(const struct fixture *f)
{
	struct waiting_stats s;

	waiting_get_stats(f->waiting, &s);
	return s;
}

static void wait_for_passes(const struct fixture *f, uint64_t passes)
{
	uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_NS;

	for (passes += stats(f).passes; stats(f).passes < passes; nap(1))
		assert_true(clock_monotonic_ns() < limit_ns);
}

static void test_time(void **state)
{
	struct fixture *f = *state;
	uint64_t began_ns, looked_ns, least_ns, ended_ns;

	began_ns = clock_monotonic_ns();
	begin(f, 200, 1, 8 << 20);
	wait_for_passes(f, 2); /* the first may have begun before there was a process */
	looked_ns = clock_monotonic_ns();
	nap(500);
	least_ns = clock_monotonic_ns() - looked_ns;
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	ended_ns = clock_monotonic_ns();
	take(f);
	assert_int_equal(f->records, FAKE_GOROUTINES);
	for (size_t i = 0; i < FAKE_GOROUTINES; i++)
		assert_in_range(f->sum_ns[i], least_ns - TURNS_NS, ended_ns - began_ns + TURNS_NS);
	assert_int_equal(stats(f).lost_ns, 0);
	assert_in_range(stats(f).share, 1, 1);
	assert_true(stats(f).cpu_ns > 0);
	/* What is removed is handed over by itself. */
	memset(f->sum_ns, 0, sizeof(f->sum_ns));
	f->records = 0;
	wait_for_passes(f, 3);
	waiting_remove(f->waiting, GENERATION);
	wait_for_passes(f, 2);
	take(f);
	assert_int_equal(f->records, FAKE_GOROUTINES);
	assert_true(f->sum_ns[7] > 0);
	wait_for_passes(f, 2);
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	assert_null(waiting_take(f->waiting));
	assert_true(waiting_close(f->waiting));
	assert_true(waiting_close(NULL));
}

/* However often it is to look, it takes no more of a CPU than it may. */
static void test_budget(void **state)
{
	struct fixture *f = *state;
	uint64_t began_ns = clock_monotonic_ns(), limit_ns;
	struct waiting_stats s;

	begin(f, 10000, 0.02, 8 << 20);
	nap(2000);
	wait_for_passes(f, 6);
	s = stats(f);
	assert_true((double)s.cpu_ns <= 0.03 * (double)(clock_monotonic_ns() - began_ns));
	assert_true(s.frequency_hz < 5000);
	/* So little that it cannot look at all of them in a second. */
	assert_true(waiting_close(f->waiting));
	begin(f, 10000, 0.0001, 8 << 20);
	for (limit_ns = clock_monotonic_ns() + PATIENCE_NS; stats(f).share < 2; nap(1))
		assert_true(clock_monotonic_ns() < limit_ns);
	assert_in_range(stats(f).share, 2, 64);
	assert_true(waiting_close(f->waiting));
}

/* The source is asked again only when it has something new. */
static void test_versions(void **state)
{
	struct fixture *f = *state;

	f->fake.error = -EIO;
	begin(f, 500, 1, 8 << 20);
	wait_for_passes(f, 3);
	assert_int_equal(stats(f).looks, 0);
	f->fake.error = 0; /* it failed, so it is asked again */
	wait_for_passes(f, 3);
	assert_true(stats(f).looks > 0);
	f->fake.all[0].goroutine.span_count = 0;
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	take(f);
	wait_for_passes(f, 3);
	f->records = 0;
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	take(f);
	assert_int_equal(f->records, FAKE_GOROUTINES);
	f->fake.version++;
	wait_for_passes(f, 3);
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	take(f);
	f->records = 0;
	wait_for_passes(f, 3);
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	take(f);
	assert_int_equal(f->records, FAKE_GOROUTINES - 1);
	assert_true(waiting_close(f->waiting));
}

static void move_all(struct fixture *f)
{
	for (size_t i = 0; i < FAKE_GOROUTINES; i++)
		f->fake.all[i].g.pc++;
}

/* Records that nobody takes are limited, and what is lost is counted. */
static void test_full(void **state)
{
	struct fixture *f = *state;
	uint64_t all_ns = 0, looked_ns;

	begin(f, 200, 1, 30000);
	wait_for_passes(f, 2);
	looked_ns = clock_monotonic_ns();
	for (int i = 0; i < 10; i++) {
		move_all(f);
		wait_for_passes(f, 2);
	}
	looked_ns = clock_monotonic_ns() - looked_ns;
	take(f);
	assert_in_range(f->records, 10, FAKE_GOROUTINES / 2);
	assert_true(stats(f).lost_ns > 0);
	/* What still stands has had its room. */
	f->records = 0;
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	take(f);
	assert_in_range(f->records, FAKE_GOROUTINES, 2 * FAKE_GOROUTINES);
	for (size_t i = 0; i < FAKE_GOROUTINES; i++)
		all_ns += f->sum_ns[i];
	assert_in_range(all_ns + stats(f).lost_ns, FAKE_GOROUTINES * looked_ns,
			FAKE_GOROUTINES * PATIENCE_NS);
	assert_true(waiting_close(f->waiting));
}

/* A process that ends is no error, and one that is not there at all neither. */
static void test_gone(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	begin(f, 200, 1, 8 << 20);
	f->fake.all[0].goroutine.generation = OTHER; /* the same memory, in a child */
	f->fake.version++;
	assert_int_equal(waiting_add(f->waiting, OTHER, pid, &f->fake.info, 0), 0);
	assert_int_equal(waiting_add(f->waiting, 7, 0x7fffffff, &f->fake.info, 0), 0);
	wait_for_passes(f, 5);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	wait_for_passes(f, 3);
	waiting_remove(f->waiting, OTHER);
	wait_for_passes(f, 2);
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	take(f);
	assert_int_equal(f->records, FAKE_GOROUTINES);
	assert_true(f->sum_ns[0] > 0);
	assert_true(waiting_close(f->waiting));
}

/* A page of which somebody decides when it is there: never. */
static void *hanging_page(int *fd)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	assert_true(*fd >= 0 && page != MAP_FAILED);
	range.range.start = fake_address(page);
	range.range.len = PAGE;
	assert_int_equal(ioctl(*fd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(*fd, UFFDIO_REGISTER, &range), 0);
	return page;
}

/* A read that does not return costs its process, and no other. */
static void test_hangs(void **state)
{
	struct fixture *f = *state;
	uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_NS;
	uint32_t hangs = 0;
	int fd;

	f->fake.all[3].goroutine.generation = OTHER;
	f->fake.all[3].goroutine.g = fake_address(hanging_page(&fd));
	begin(f, 200, 1, 8 << 20);
	wait_for_passes(f, 3);
	assert_int_equal(waiting_watch(f->waiting, clock_monotonic_ns()), 0);
	assert_int_equal(waiting_add(f->waiting, OTHER, getpid(), &f->fake.info, 0), 0);
	while (!hangs) {
		assert_true(clock_monotonic_ns() < limit_ns);
		nap(50);
		hangs = waiting_watch(f->waiting, clock_monotonic_ns());
	}
	assert_int_equal(hangs, OTHER);
	wait_for_passes(f, 5);
	assert_int_equal(waiting_watch(f->waiting, clock_monotonic_ns()), 0);
	waiting_flush(f->waiting, 0, PATIENCE_NS);
	take(f);
	assert_true(f->sum_ns[4] > 0);
	assert_int_equal(f->sum_ns[3], 0);
	/* The thread that was left behind is not waited for for ever, and ends when it can. */
	assert_false(waiting_close(f->waiting));
	close(fd);
	nap(200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_budget, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_versions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hangs, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
