/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers: the line NSpid of /proc/PID/task/TID/status ends with the one that the thread itself
 * sees. Where the process shares our PID namespace they are the same, and nothing is looked up.
 */
#include "process/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/string_table.h"
#include "process/proc_stat.h"
#include "process/process_private.h"

#define THREADS_MAX  4096
#define LIST_ANEW_NS 1000000000ull /* for a thread that is not in the list */

struct pair {
	uint64_t inner;
	pid_t outer;
};

struct threads {
	const struct process *process;
	bool translated;
	struct pair *pairs;
	size_t count;
	uint64_t listed_ns;
};

/* A small file of a thread, as text. The number of its bytes, or a negative errno. */
static ssize_t read_text(const struct process *p, pid_t thread, const char *name, char *text,
			 size_t size)
{
	char path[64];
	ssize_t count;
	int fd;

	snprintf(path, sizeof(path), "task/%d/%s", thread, name);
	fd = openat(p->directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	count = read(fd, text, size - 1);
	if (count < 0)
		count = -errno;
	close(fd);
	text[count > 0 ? count : 0] = '\0';
	return count;
}

/* How many numbers it has, one in each namespace; `*inner`: the last of them. 0 unknown. */
static size_t read_numbers(const struct process *p, pid_t thread, uint64_t *inner)
{
	size_t count = 0;
	char text[4096];
	const char *at;

	if (read_text(p, thread, "status", text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nNSpid:");
	if (!at)
		return 0;
	for (at += strlen("\nNSpid:"); *at == '\t'; count++) {
		char *end;

		*inner = strtoull(at, &end, 10);
		at = end;
	}
	return count;
}

int threads_open(const struct process *p, struct threads **out)
{
	struct threads *t = calloc(1, sizeof(*t));
	uint64_t inner;

	*out = t;
	if (!t)
		return -ENOMEM;
	t->process = p;
	t->translated = read_numbers(p, process_get_pid(p), &inner) > 1;
	return 0;
}

void threads_close(struct threads *t)
{
	if (!t)
		return;
	free(t->pairs);
	free(t);
}

static void list_threads(struct threads *t)
{
	int fd = openat(t->process->directory, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	t->listed_ns = clock_monotonic_ns();
	t->count = 0;
	if (!t->pairs)
		t->pairs = malloc(THREADS_MAX * sizeof(*t->pairs));
	if (!directory || !t->pairs) {
		if (directory)
			closedir(directory);
		else if (fd >= 0)
			close(fd);
		return;
	}
	while (t->count < THREADS_MAX && (entry = readdir(directory))) {
		struct pair *pair = &t->pairs[t->count];

		pair->outer = (pid_t)strtol(entry->d_name, NULL, 10);
		t->count +=
			pair->outer > 0 && read_numbers(t->process, pair->outer, &pair->inner) > 0;
	}
	closedir(directory);
}

static pid_t find(const struct threads *t, uint64_t number)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->pairs[i].inner == number)
			return t->pairs[i].outer;
	return 0;
}

/* 0: not known, or not yet. */
static pid_t translate(struct threads *t, uint64_t number)
{
	pid_t thread;

	if (!number || number > INT32_MAX)
		return 0;
	if (!t->translated)
		return (pid_t)number;
	thread = find(t, number);
	if (!thread && clock_monotonic_ns() - t->listed_ns >= LIST_ANEW_NS) {
		list_threads(t);
		thread = find(t, number);
	}
	return thread;
}

int threads_read(struct threads *t, uint64_t number, struct thread_state *out)
{
	pid_t thread = translate(t, number);
	char text[128], path[64];
	struct proc_stat stat;
	uint64_t times;

	*out = (struct thread_state){0};
	if (!thread)
		return -ESRCH;
	if (read_text(t->process, thread, "schedstat", text, sizeof(text)) <= 0)
		return -ESRCH;
	/* A kernel that does not count says 0 of one that has run, too: the third is how often. */
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &out->cpu_ns, &out->queued_ns,
		   &times) != 3 ||
	    !times)
		return -ENOTSUP;
	snprintf(path, sizeof(path), "task/%d/stat", thread);
	if (proc_stat_read(t->process->directory, path, &stat))
		return -ESRCH;
	out->state = stat.state;
	return 0;
}

void threads_read_wait_channel(struct threads *t, uint64_t number, char *name, size_t size)
{
	pid_t thread = translate(t, number);
	char text[64];
	ssize_t count = thread ? read_text(t->process, thread, "wchan", text, sizeof(text)) : 0;

	/* "0": it runs, or we may not know. */
	if (count <= 0 || !strcmp(text, "0"))
		count = 0;
	string_clean(name, size, text, (size_t)count);
}
