// SPDX-License-Identifier: Apache-2.0
/*
 * recorder AGENT PID M_CURG M_VDSO_SP HZ FILE: samples the process so often, and at each sample
 * captures its stacks before the sampler of that spanprof sees it. Until SIGTERM or SIGINT. Prints
 * "ready", in the end how many captures were written and lost.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "stack_capture.h"
#include "stack_capture.skel.h"

#define SAMPLER "cpu_sample"

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* What a file descriptor of the agent is: the id of a program, else 0. */
static unsigned program_of(const char *agent, const char *fd)
{
	char path[512], line[256];
	unsigned id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", agent, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "prog_id: %u", &id);
	if (f)
		fclose(f);
	return id;
}

static bool is_sampler(int fd)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &size) && info.type == BPF_PROG_TYPE_PERF_EVENT &&
	       !strcmp(info.name, SAMPLER);
}

/* A descriptor of the agent's sampler, or a negative errno. */
static int find_sampler(const char *agent)
{
	char path[64];
	const struct dirent *e;
	DIR *dir;
	int fd = -ENOENT;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", agent);
	dir = opendir(path);
	while (dir && fd < 0 && (e = readdir(dir))) {
		unsigned id = program_of(agent, e->d_name);

		fd = id ? bpf_prog_get_fd_by_id(id) : -ENOENT;
		if (fd >= 0 && !is_sampler(fd)) {
			close(fd);
			fd = -ENOENT;
		}
	}
	if (dir)
		closedir(dir);
	return fd;
}

static int write_capture(void *context, void *data, size_t size)
{
	__u64 length = size;

	return fwrite(&length, sizeof(length), 1, context) == 1 &&
			       fwrite(data, size, 1, context) == 1
		       ? 0
		       : -EIO;
}

static bool sample_cpus(const struct stack_capture_bpf *bpf, unsigned hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
	};

	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0 || !bpf_program__attach_perf_event(bpf->progs.capture_stack, (int)fd))
			return false;
	}
	return true;
}

static struct stack_capture_bpf *load(const char *agent, const struct capture_config *config,
				      unsigned hz)
{
	struct stack_capture_bpf *bpf = stack_capture_bpf__open();
	int sampler = find_sampler(agent);
	__u32 zero = 0;

	if (!bpf || sampler < 0) {
		fprintf(stderr, "recorder: %s has no %s\n", agent, SAMPLER);
		return NULL;
	}
	*(struct capture_config *)&bpf->rodata->config = *config;
	if (stack_capture_bpf__load(bpf) ||
	    bpf_map_update_elem(bpf_map__fd(bpf->maps.next), &zero, &sampler, BPF_ANY) ||
	    !sample_cpus(bpf, hz)) {
		perror("recorder");
		return NULL;
	}
	close(sampler);
	return bpf;
}

int main(int argc, char **argv)
{
	struct stack_capture_bpf *bpf;
	struct ring_buffer *ring;
	unsigned long written = 0;
	FILE *file;
	int taken;

	if (argc != 7)
		return 2;
	bpf = load(argv[1],
		   &(struct capture_config){.tgid = (__u32)atoi(argv[2]),
					    .m_curg = (__u32)atoi(argv[3]),
					    .m_vdso_sp = (__u32)atoi(argv[4])},
		   (unsigned)atoi(argv[5]));
	file = fopen(argv[6], "we");
	ring = bpf && file ? ring_buffer__new(bpf_map__fd(bpf->maps.captures), write_capture, file,
					      NULL)
			   : NULL;
	if (!ring)
		return 1;
	signal(SIGTERM, end);
	signal(SIGINT, end);
	puts("ready");
	fflush(stdout);
	while (!ended) {
		taken = ring_buffer__poll(ring, 50);
		if (taken < 0 && taken != -EINTR)
			return 1;
		written += taken > 0 ? (unsigned long)taken : 0;
	}
	taken = ring_buffer__consume(ring);
	written += taken > 0 ? (unsigned long)taken : 0;
	printf("%lu captures, %llu lost\n", written, (unsigned long long)bpf->bss->lost);
	return fclose(file) != 0;
}
