/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the BPF object, attaches its programs and hands its records to the agent. */
#include "capture/capture_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/calibrate.h"
#include "capture/clocks.h"
#include "capture/context_map.h"
#include "capture/goroutine_store.h"
#include "capture/preflight.h"
#include "capture/probes.h"
#include "capture/registers.h"

#define POLL_NS 100000000ull /* a poll round ends, however fast records come */

static int ignore_messages(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return 0; /* errors are told in our own words */
}

/* Called after each record; -EAGAIN ends the round. */
static int round_goes_on(struct capture *c)
{
	c->polled++;
	return clock_monotonic_ns() < c->poll_end_ns ? 0 : -EAGAIN;
}

static void on_process_record(const struct capture_handler *handler,
			      const struct process_record *record)
{
	switch (record->header.type) {
	case RECORD_EXEC:
		handler->on_exec(handler->context, record);
		break;
	case RECORD_EXIT:
		handler->on_exit(handler->context, record);
		break;
	case RECORD_FIRST_SPAN:
		handler->on_first_span(handler->context, record);
		break;
	}
}

static int on_record(void *context, void *data, size_t size)
{
	struct capture *c = context;
	const struct record_header *header = data;

	if (size < sizeof(*header) || header->size_bytes > size)
		return 0;
	if (header->type != RECORD_SAMPLE && size >= sizeof(struct process_record))
		on_process_record(&c->handler, data);
	else if (size >= sizeof(struct sample_record))
		c->handler.on_sample(c->handler.context, data);
	return round_goes_on(c);
}

static int on_ended_span(void *context, void *data, size_t size)
{
	struct capture *c = context;
	const struct record_header *header = data;

	if (size >= sizeof(struct span_record) && header->type == RECORD_ENDED_SPAN)
		c->handler.on_ended_span(c->handler.context, data);
	return round_goes_on(c);
}

static int load(struct capture *c, char *why, size_t why_size)
{
	int error;

	libbpf_set_print(ignore_messages);
	c->bpf = spanprof_bpf__open();
	if (!c->bpf)
		return preflight_explain(-errno, "cannot open the BPF object", why, why_size);
	c->bpf->rodata->tunables.kernel_stacks = c->config.kernel_stacks;
	c->bpf->rodata->tunables.every_process = c->config.every_process;
	error = bpf_map__set_max_entries(c->bpf->maps.records, c->config.ring_bytes);
	if (!error)
		error = bpf_map__set_max_entries(c->bpf->maps.goroutines, c->config.goroutines_max);
	/* Where that tool does not run, or is another version, its spans are simply not known. */
	(void)context_map_use(c->bpf->maps.traces_ctx_v1, CONTEXT_MAP_PATH);
	if (!error)
		error = spanprof_bpf__load(c->bpf);
	if (error)
		return preflight_explain(error, "cannot load the BPF programs", why, why_size);
	return 0;
}

static int attach_tracepoints(struct capture *c)
{
	struct spanprof_bpf *bpf = c->bpf;

	bpf->links.process_exec = bpf_program__attach(bpf->progs.process_exec);
	if (!bpf->links.process_exec)
		return -errno;
	bpf->links.process_fork = bpf_program__attach(bpf->progs.process_fork);
	if (!bpf->links.process_fork)
		return -errno;
	bpf->links.process_exit = bpf_program__attach(bpf->progs.process_exit);
	return bpf->links.process_exit ? 0 : -errno;
}

static int open_rings(struct capture *c)
{
	c->ring = ring_buffer__new(bpf_map__fd(c->bpf->maps.records), on_record, c, NULL);
	return c->ring ? ring_buffer__add(c->ring, bpf_map__fd(c->bpf->maps.ended_spans),
					  on_ended_span, c)
		       : -errno;
}

int capture_open(const struct capture_config *config, const struct capture_handler *handler,
		 struct capture **out, char *why, size_t why_size)
{
	struct capture *c = NULL;
	int error = preflight_check(why, why_size);

	*out = NULL;
	if (error)
		return error;
	c = calloc(1, sizeof(*c));
	if (!c)
		return preflight_explain(-ENOMEM, "capture", why, why_size);
	c->config = *config;
	c->handler = *handler;
	error = load(c, why, why_size);
	if (error)
		goto out;
	error = attach_tracepoints(c);
	if (error) {
		preflight_explain(error, "cannot attach to process tracepoints", why, why_size);
		goto out;
	}
	error = probes_open(&c->probes);
	if (error) {
		preflight_explain(error, "probes", why, why_size);
		goto out;
	}
	error = registers_measure(c->probes, c->bpf->progs.measure_registers);
	if (error) {
		preflight_explain(error, "cannot attach a uprobe", why, why_size);
		goto out;
	}
	if (c->bpf->bss->own_tgid != (__u32)getpid()) {
		snprintf(why, why_size,
			 "running in a PID namespace of its own: processes have other numbers in "
			 "the kernel; run it in the host's (hostPID: true, --pid=host)");
		error = -ENOTSUP;
		goto out;
	}
	error = goroutine_store_open(bpf_map__fd(c->bpf->maps.goroutines), &c->store);
	if (error) {
		preflight_explain(error, "goroutine store", why, why_size);
		goto out;
	}
	error = open_rings(c);
	if (error) {
		preflight_explain(error, "cannot map the ring buffers", why, why_size);
		goto out;
	}
	*out = c;
	return 0;
out:
	capture_close(c);
	return error;
}

int capture_start(struct capture *c, char *why, size_t why_size)
{
	const struct calibrate_parts parts = {
		.processes = c->bpf->maps.processes,
		.span_start = c->bpf->progs.span_start_with_value,
		.goroutine_start = c->bpf->progs.goroutine_start,
	};
	uint64_t period_ns = 1000000000ull / c->config.frequency_hz;
	int error = clocks_open(c->bpf->progs.cpu_sample, period_ns, &c->clocks);

	if (error)
		return preflight_explain(error, "cannot open the CPU clocks", why, why_size);
	/* Without it nobody knows what probes cost: then they stay. */
	if (c->config.calibrate)
		(void)calibration_begin(&parts, &c->calibration);
	return 0;
}

void capture_stop(struct capture *c)
{
	clocks_close(c->clocks);
	c->clocks = NULL;
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	calibration_end(c->calibration);
	clocks_close(c->clocks);
	probes_close(c->probes);
	ring_buffer__free(c->ring);
	goroutine_store_close(c->store);
	spanprof_bpf__destroy(c->bpf);
	free(c);
}

int capture_follow(struct capture *c, pid_t pid)
{
	__u32 key = pid;
	__u8 yes = 1;

	return bpf_map__update_elem(c->bpf->maps.followed, &key, sizeof(key), &yes, sizeof(yes),
				    BPF_ANY);
}

static const struct bpf_program *probe_program(const struct capture *c,
					       enum capture_probe_kind kind)
{
	switch (kind) {
	case CAPTURE_PROBE_RUNTIME_TRACE:
		return c->bpf->progs.span_start_runtime_trace;
	case CAPTURE_PROBE_WITH_VALUE:
		return c->bpf->progs.span_start_with_value;
	case CAPTURE_PROBE_START_RETURN:
		return c->bpf->progs.span_start_return;
	case CAPTURE_PROBE_NEWPROC:
		return c->bpf->progs.goroutine_start;
	}
	return NULL;
}

int capture_attach(struct capture *c, enum capture_probe_kind kind, pid_t pid, const char *path,
		   uint64_t file_offset, int *probe, char *why, size_t why_size)
{
	const struct bpf_program *program = probe_program(c, kind);
	int error = program ? probes_attach(c->probes, program, pid, path, file_offset, probe)
			    : -EINVAL;

	return error ? preflight_explain(error, "cannot attach a probe", why, why_size) : 0;
}

void capture_detach(struct capture *c, int probe)
{
	probes_detach(c->probes, probe);
}

int capture_get_fd(const struct capture *c)
{
	return ring_buffer__epoll_fd(c->ring);
}

int capture_poll(struct capture *c)
{
	int read;

	c->polled = 0;
	c->poll_end_ns = clock_monotonic_ns() + POLL_NS;
	read = ring_buffer__consume(c->ring);
	return read == -EAGAIN || read >= 0 ? (int)c->polled : read;
}

void capture_sweep(struct capture *c)
{
	goroutine_store_sweep(c->store);
	if (c->clocks)
		clocks_refresh(c->clocks);
}

void capture_get_counters(const struct capture *c, struct target_counters *sum)
{
	int cpus = libbpf_num_possible_cpus();
	struct target_counters *each = cpus > 0 ? calloc(cpus, sizeof(*each)) : NULL;
	__u32 zero = 0;

	memset(sum, 0, sizeof(*sum));
	if (each && !bpf_map__lookup_elem(c->bpf->maps.counters, &zero, sizeof(zero), each,
					  cpus * sizeof(*each), 0)) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			for (int i = 0; i < LOSS_REASON_COUNT; i++)
				sum->lost[i] += each[cpu].lost[i];
			for (int i = 0; i < EVENT_COUNT; i++)
				sum->events[i] += each[cpu].events[i];
		}
		calibration_subtract(c->calibration, sum);
	}
	free(each);
}

/* What the kernel charges for a map, as fdinfo tells it. */
static uint64_t map_memory(int fd)
{
	unsigned long long bytes = 0;
	char line[128];
	FILE *file;

	snprintf(line, sizeof(line), "/proc/self/fdinfo/%d", fd);
	file = fopen(line, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	fclose(file);
	return bytes;
}

void capture_get_stats(const struct capture *c, struct capture_stats *out)
{
	struct bpf_map *map;

	memset(out, 0, sizeof(*out));
	capture_get_counters(c, &out->counters);
	bpf_object__for_each_map(map, c->bpf->obj) out->map_bytes += map_memory(bpf_map__fd(map));
	out->cpus = clocks_count(c->clocks);
}
