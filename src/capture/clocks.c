/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, staggers and, after CPU hotplug, reopens the sampling clocks. */
#include "capture/clocks.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ONLINE_FILE "/sys/devices/system/cpu/online"
#define ONLINE_MAX  1024 /* bytes of the list; 4096 CPUs in ranges fit */

struct clocks {
	const struct bpf_program *program;
	uint64_t period_ns;
	char online[ONLINE_MAX]; /* the list as it was when the clocks were opened */
	size_t slots;		 /* possible CPUs */
	struct bpf_link **links; /* by CPU; NULL: none */
};

static int read_online(char *list, size_t size)
{
	FILE *file = fopen(ONLINE_FILE, "re");

	if (!file)
		return -errno;
	if (!fgets(list, size, file))
		list[0] = '\0';
	fclose(file);
	return list[0] ? 0 : -EINVAL;
}

static int open_clock(struct clocks *c, unsigned cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = c->period_ns,
		.exclude_idle = 1,
		.disabled = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; /* the CPU went away meanwhile */
	c->links[cpu] = bpf_program__attach_perf_event(c->program, fd);
	if (!c->links[cpu]) {
		int error = -errno;

		close(fd);
		return error;
	}
	return 0;
}

/* Opens a clock for each CPU of a list such as "0-3,8". */
static int open_list(struct clocks *c)
{
	struct timespec pause = {.tv_nsec = c->period_ns / (c->slots ? c->slots : 1) % 1000000000};
	const char *at = c->online;

	while (*at >= '0' && *at <= '9') {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last && cpu < c->slots; cpu++) {
			int error = open_clock(c, cpu);

			if (error)
				return error;
			nanosleep(&pause, NULL);
		}
		at = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static void close_all(struct clocks *c)
{
	for (size_t cpu = 0; cpu < c->slots; cpu++) {
		bpf_link__destroy(c->links[cpu]); /* closes the perf event too */
		c->links[cpu] = NULL;
	}
}

int clocks_open(const struct bpf_program *program, uint64_t period_ns, struct clocks **out)
{
	int cpus = libbpf_num_possible_cpus(), error;
	struct clocks *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return -ENOMEM;
	c->program = program;
	c->period_ns = period_ns;
	c->slots = cpus > 0 ? cpus : 1;
	c->links = calloc(c->slots, sizeof(*c->links));
	error = c->links ? read_online(c->online, sizeof(c->online)) : -ENOMEM;
	if (!error)
		error = open_list(c);
	if (error) {
		clocks_close(c);
		return error;
	}
	*out = c;
	return 0;
}

void clocks_close(struct clocks *c)
{
	if (!c)
		return;
	if (c->links)
		close_all(c);
	free(c->links);
	free(c);
}

int clocks_refresh(struct clocks *c)
{
	char online[ONLINE_MAX];
	int error = read_online(online, sizeof(online));

	if (error || !strcmp(online, c->online))
		return error;
	close_all(c);
	memcpy(c->online, online, sizeof(online));
	error = open_list(c);
	if (error)
		c->online[0] = '\0'; /* tried again at the next call */
	return error;
}

uint32_t clocks_count(const struct clocks *c)
{
	uint32_t count = 0;

	for (size_t cpu = 0; c && cpu < c->slots; cpu++)
		count += c->links[cpu] != NULL;
	return count;
}
