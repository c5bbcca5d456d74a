/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and runs parked_program, a real Go program that stands still, and reads what it tells. */
#ifndef UNIT_PARKED_PROGRAM_H
#define UNIT_PARKED_PROGRAM_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "process/goroutines.h"
#include "process/process.h"

#define PARKED_CROWD	  600
#define PARKED_GONE	  40
#define PARKED_LINES	  (5 + PARKED_CROWD + PARKED_GONE + 1) /* and main */
#define PARKED_SPINNING	  (2 + 1)
#define PARKED_PATIENCE_S 30

/* What a goroutine told of itself: the addresses of its own object and of its caller's. */
struct parked_line {
	char name[16];
	uint64_t goid, inner, outer;
};

struct parked {
	pid_t pid;
	int input; /* closed, it ends */
	struct process *process;
	struct block_cache *cache;
	struct gobinary *binary;
	const struct gobinary_info *info;
	struct parked_line lines[PARKED_LINES];
	uint64_t *list; /* all g's, with their states as they stand still */
	struct goroutine_state *states;
	size_t count;
};

/* Runs a program with the given standard input and output; −1: as they are. */
static inline pid_t parked_spawn(char *const arguments[], int input, int output)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* also of a test that fails */
	if ((input < 0 || dup2(input, 0) == 0) && (output < 0 || dup2(output, 1) == 1))
		execvp(arguments[0], arguments);
	_exit(127);
}

/* The module in `folder`. */
static inline void parked_build(const char *folder, const char *path)
{
	char *const arguments[] = {"go", "build",      "-C", (char *)folder,
				   "-o", (char *)path, ".",  NULL};
	pid_t pid = parked_spawn(arguments, -1, -1);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static inline void parked_open(struct parked *p, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(block_cache_open(4 << 20, &p->cache), 0);
	assert_int_equal(gobinary_open(fd, p->cache, &p->binary), 0);
	close(fd);
	p->info = gobinary_get_info(p->binary);
	assert_false(p->info->pie); /* addresses are those of the file */
}

static inline void parked_read_lines(struct parked *p, int output, size_t lines)
{
	FILE *file = fdopen(output, "r");
	size_t count = 0;
	char text[256];

	while (count < lines) {
		struct parked_line *line = &p->lines[count];

		assert_non_null(fgets(text, sizeof(text), file));
		count += sscanf(text, "%15s %lu %lx %lx", line->name, &line->goid, &line->inner,
				&line->outer) >= 2;
	}
	fclose(file);
}

static inline const struct parked_line *parked_line(const struct parked *p, const char *name)
{
	for (size_t i = 0; i < PARKED_LINES; i++)
		if (!strcmp(p->lines[i].name, name))
			return &p->lines[i];
	fail_msg("no line of %s", name);
	return NULL;
}

/* Of the goroutine with this number, if it is not dead; NULL none. */
static inline const struct goroutine_state *parked_state(const struct parked *p, uint64_t goid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->states[i].goid == goid && p->states[i].status != GOROUTINE_DEAD)
			return &p->states[i];
	return NULL;
}

static inline void parked_forget(struct parked *p)
{
	free(p->states);
	free(p->list);
	p->states = NULL;
	p->list = NULL;
}

static inline bool parked_all_stand_still(const struct parked *p)
{
	for (size_t i = 0; i < PARKED_LINES; i++) {
		const struct goroutine_state *g = parked_state(p, p->lines[i].goid);
		bool is_main = !strcmp(p->lines[i].name, "main");

		if (!strcmp(p->lines[i].name, "gone")
			    ? g != NULL
			    : !g || g->status != (is_main ? GOROUTINE_SYSCALL : GOROUTINE_WAITING))
			return false;
	}
	return true;
}

/* Reads all states anew. */
static inline void parked_look(struct parked *p)
{
	parked_forget(p);
	assert_int_equal(goroutines_list(p->process, p->info, 0, 1 << 20, &p->list, &p->count), 0);
	p->states = calloc(p->count + 1, sizeof(*p->states));
	assert_int_equal(goroutines_read(p->process, p->info, p->list, p->count, p->states), 0);
}

/* They tell of themselves right before they stand still, or end. */
static inline void parked_wait(struct parked *p)
{
	uint64_t limit_ns = clock_monotonic_ns() + PARKED_PATIENCE_S * 1000000000ull;

	for (parked_look(p); !parked_all_stand_still(p); parked_look(p)) {
		assert_true(clock_monotonic_ns() < limit_ns);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}

/* Builds and runs the program of a folder; returns where to read what it prints. */
static inline int parked_launch(struct parked *p, const char *folder, char *argument)
{
	char directory[] = "/tmp/parked_XXXXXX", path[64];
	char *const arguments[] = {path, argument, NULL};
	int in[2], out[2];

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	parked_build(folder, path);
	parked_open(p, path);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	p->pid = parked_spawn(arguments, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	p->input = in[1];
	/* It has begun when it says something. */
	assert_int_equal(
		poll(&(struct pollfd){.fd = out[0], .events = POLLIN}, 1, 1000 * PARKED_PATIENCE_S),
		1);
	unlink(path);
	rmdir(directory);
	return out[0];
}

/* Runs that of a folder until it has told so many lines. */
static inline struct parked *parked_run_of(const char *folder, char *argument, size_t lines)
{
	struct parked *p = calloc(1, sizeof(*p));

	parked_read_lines(p, parked_launch(p, folder, argument), lines);
	assert_int_equal(process_open(p->pid, &p->process), 0);
	return p;
}

static inline struct parked *parked_run(char *argument, size_t lines)
{
	return parked_run_of("tests/unit/parked_program", argument, lines);
}

/* Stands still. */
static inline struct parked *parked_start(void)
{
	struct parked *p = parked_run(NULL, PARKED_LINES);

	parked_wait(p);
	return p;
}

static inline void parked_end(struct parked *p)
{
	close(p->input);
	kill(p->pid, SIGCONT); /* where it was stopped */
	waitpid(p->pid, NULL, 0);
	parked_forget(p);
	process_close(p->process);
	gobinary_close(p->binary);
	block_cache_close(p->cache);
	free(p);
}

/* The name of the function that an address lies in. */
static inline const char *parked_function(const struct parked *p, uint64_t pc, char *name,
					  size_t size)
{
	struct pclntab *table = gobinary_get_pclntab(p->binary);
	struct go_function function;

	assert_int_equal(pclntab_find_function(table, pc, &function), 0);
	assert_int_equal(pclntab_get_name(table, &function, name, size), 0);
	return name;
}

#endif
