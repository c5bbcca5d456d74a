/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that reads /proc/kallsyms and ends. */
#include "symbolize/kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolize/kallsyms.h"

struct kernel_names {
	pthread_t thread;
	bool joined;
	struct kallsyms *table; /* the thread's until it is joined; NULL unreadable */
};

/* The kernel prints 100,000 lines and more: 50 ms of CPU, a quarter second on a busy machine. */
static void *read_names(void *argument)
{
	struct kernel_names *n = argument;
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (kallsyms_read(fd, &n->table))
		n->table = NULL;
	close(fd);
	return NULL;
}

int kernel_names_open(struct kernel_names **out)
{
	struct kernel_names *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	err = -pthread_create(&n->thread, NULL, read_names, n);
	if (err) {
		free(n);
		return err;
	}
	*out = n;
	return 0;
}

static void wait_for_names(struct kernel_names *n)
{
	if (!n->joined)
		pthread_join(n->thread, NULL);
	n->joined = true;
}

void kernel_names_close(struct kernel_names *n)
{
	if (!n)
		return;
	wait_for_names(n);
	kallsyms_close(n->table);
	free(n);
}

const char *kernel_names_find(struct kernel_names *n, uint64_t address)
{
	uint64_t start;

	wait_for_names(n);
	return n->table ? kallsyms_find(n->table, address, &start) : NULL;
}

bool kernel_names_are_hidden(struct kernel_names *n)
{
	wait_for_names(n);
	return !n->table || kallsyms_is_hidden(n->table);
}
