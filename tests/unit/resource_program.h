/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and runs resource_program, whose spans lead to resources of all kinds. */
#ifndef UNIT_RESOURCE_PROGRAM_H
#define UNIT_RESOURCE_PROGRAM_H

#include "parked_program.h"

#define RESOURCE_SPANS 11

static inline void resource_program_build(const char *path)
{
	char *const arguments[] = {"go", "build",      "-C", "tests/unit/resource_program",
				   "-o", (char *)path, ".",  NULL};
	pid_t pid = parked_spawn(arguments, -1, -1);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Runs it until it has told where its spans lie. `argument`: NULL, it sets a provider for all. */
static inline struct parked *resource_program_run(char *argument)
{
	char directory[] = "/tmp/resource_XXXXXX", path[64];
	char *const arguments[] = {path, argument, NULL};
	struct parked *p = calloc(1, sizeof(*p));
	int in[2], out[2];

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	resource_program_build(path);
	parked_open(p, path);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	p->pid = parked_spawn(arguments, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	p->input = in[1];
	parked_read_lines(p, out[0], RESOURCE_SPANS);
	unlink(path);
	rmdir(directory);
	assert_int_equal(process_open(p->pid, &p->process), 0);
	return p;
}

/* The address of the span of that name. */
static inline uint64_t resource_program_span(const struct parked *p, const char *name)
{
	return parked_line(p, name)->inner;
}

#endif
