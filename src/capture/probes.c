/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that are used again; see probes.h. The two calls that change a target's text are shielded,
 * so libbpf gets an event that is open, and closes one that is kept open.
 */
#include "capture/probes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/shielded.h"

#define PROBES_MAX 8192
#define TYPE_FILE  "/sys/bus/event_source/devices/uprobe/type"

struct probe {
	struct bpf_link *link; /* NULL: free */
	int event_fd;	       /* the link's */
};

struct probes {
	struct probe *all;
	size_t slots;
};

/* For the shielded calls: system calls alone. */
struct event {
	struct perf_event_attr attributes;
	pid_t pid;
	int fd;
};

static int open_event(void *context)
{
	struct event *e = context;

	e->fd = (int)syscall(SYS_perf_event_open, &e->attributes, e->pid, e->pid < 0 ? 0 : -1, -1,
			     PERF_FLAG_FD_CLOEXEC);
	return e->fd < 0 ? -errno : 0;
}

static int close_event(void *context)
{
	struct event *e = context;

	return close(e->fd) ? -errno : 0;
}

/* With the last descriptor of it the probe goes. */
static void event_close(int fd)
{
	struct event event = {.fd = fd};

	if (fd >= 0)
		(void)shielded_call(close_event, &event);
}

static int event_open(pid_t pid, const char *path, uint64_t file_offset, int *fd)
{
	struct event event = {
		.attributes = {.size = sizeof(event.attributes),
			       .uprobe_path = (uint64_t)(uintptr_t)path,
			       .probe_offset = file_offset},
		.pid = pid < 0 ? -1 : pid,
	};
	FILE *file = fopen(TYPE_FILE, "re");
	bool known = file && fscanf(file, "%u", &event.attributes.type) == 1;
	int error;

	if (file)
		fclose(file);
	if (!known)
		return -EOPNOTSUPP; /* a kernel without uprobes, or no sysfs */
	error = shielded_call(open_event, &event);
	*fd = event.fd;
	return error;
}

int probes_open(struct probes **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->slots; i++)
		probes_detach(p, (int)i);
	free(p->all);
	free(p);
}

static int free_slot(struct probes *p, size_t *slot)
{
	size_t slots = p->slots ? p->slots * 2 : 8;
	struct probe *grown;

	for (*slot = 0; *slot < p->slots; ++*slot)
		if (!p->all[*slot].link)
			return 0;
	if (slots > PROBES_MAX)
		return -ENOSPC;
	grown = realloc(p->all, slots * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + p->slots, 0, (slots - p->slots) * sizeof(*grown));
	p->all = grown;
	p->slots = slots;
	return 0;
}

int probes_attach(struct probes *p, const struct bpf_program *program, pid_t pid, const char *path,
		  uint64_t file_offset, int *probe)
{
	struct bpf_link *link;
	size_t slot;
	int fd, error = free_slot(p, &slot);

	if (!error)
		error = event_open(pid, path, file_offset, &fd);
	if (error)
		return error;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		error = -errno;
		event_close(fd);
		return error;
	}
	p->all[slot] = (struct probe){link, fd};
	*probe = (int)slot;
	return 0;
}

void probes_detach(struct probes *p, int probe)
{
	int last;

	if (probe < 0 || (size_t)probe >= p->slots || !p->all[probe].link)
		return;
	last = fcntl(p->all[probe].event_fd, F_DUPFD_CLOEXEC, 0);
	bpf_link__destroy(p->all[probe].link); /* and its descriptor of the event */
	p->all[probe].link = NULL;
	event_close(last);
}
