/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.stat of its cgroup and of those around it: version 2 counts throttled_usec, version 1
 * throttled_time in ns.
 */
#include "process/cpu_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "process/process_private.h"

#define CGROUPS_MAX	  16
#define CGROUP_FILE_BYTES 65536
#define CGROUP_MOUNT	  "/sys/fs/cgroup" /* of version 2; those of version 1 lie in it */

struct cpu_quota {
	int files[CGROUPS_MAX]; /* cpu.stat, the innermost first */
	size_t count;
};

/* Opens the files of the cgroup at `path`, which is written over, and of those around it. */
static void open_all(struct cpu_quota *q, const char *controllers, char *path)
{
	while (q->count < CGROUPS_MAX) {
		char name[PATH_MAX + 64], *slash;
		int fd;

		snprintf(name, sizeof(name), CGROUP_MOUNT "%s%s%s/cpu.stat",
			 *controllers ? "/" : "", controllers, path);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0)
			q->files[q->count++] = fd;
		slash = strrchr(path, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
}

/* A line of /proc/PID/cgroup: number, controllers, path. */
static void open_line(struct cpu_quota *q, char *line)
{
	char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(++controllers, ':') : NULL;
	/* Outside of our own cgroup namespace there is no way to it. */
	if (!path || path[1] != '/' || strstr(path, "/..") || strlen(path) > PATH_MAX)
		return;
	*path++ = '\0';
	if (!*controllers || !strcmp(controllers, "cpu") || !strcmp(controllers, "cpu,cpuacct"))
		open_all(q, controllers, path);
}

int cpu_quota_open(const struct process *p, struct cpu_quota **out)
{
	struct cpu_quota *q = calloc(1, sizeof(*q));
	struct buffer text;

	*out = q;
	if (!q)
		return -ENOMEM;
	buffer_open(&text, CGROUP_FILE_BYTES);
	if (!process_read_file(p, "cgroup", &text))
		buffer_add(&text, "", 1);
	if (text.size && !text.failed) {
		char *rest = (char *)text.data, *line;

		while ((line = strsep(&rest, "\n")))
			open_line(q, line);
	}
	buffer_close(&text);
	return 0;
}

void cpu_quota_close(struct cpu_quota *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->count; i++)
		close(q->files[i]);
	free(q);
}

static uint64_t number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

uint64_t cpu_quota_get_throttled_ns(const struct cpu_quota *q)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < q->count; i++) {
		char text[2048];
		ssize_t size = pread(q->files[i], text, sizeof(text) - 1, 0);

		text[size > 0 ? size : 0] = '\0';
		sum_ns += 1000 * number_behind(text, "\nthrottled_usec ") +
			  number_behind(text, "\nthrottled_time ");
	}
	return sum_ns;
}
