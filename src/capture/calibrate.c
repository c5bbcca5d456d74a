/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A goroutine and two spans in our own memory, started and ended in turn, as a busy service does;
 * the best of some rounds, for whatever else the machine does only adds.
 */
#include "capture/calibrate.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/calibrate_stub.h"
#include "capture/own_text.h"
#include "capture/probes.h"

#define ROUNDS			5
#define HITS			200 /* of a round: their records fit the buffer that nobody empties meanwhile */
#define OWN_GENERATION		UINT32_MAX
#define SPAN_TYPE		0x5b41
#define UNSAMPLED_TYPE		0x5b42
#define SPAN_NAME		"calibrate"
#define FIELD(structure, field) (uint16_t) offsetof(struct structure, field)

struct own_m {
	uint64_t curg;
};

struct own_g {
	uint64_t m, goid;
};

struct own_span {
	uint64_t trace_id[2], span_id, trace_flags, parent_id;
	uint64_t name, name_size;
	uint64_t start[2], end[2];
	uint8_t rest[TARGET_SPAN_WINDOW]; /* read, too */
};

/* The fields lie in one window from the start. */
struct own_program {
	struct own_m m;
	struct own_g g0, g, child;
	struct own_span spans[2];
	uint64_t unsampled[8];
	uint64_t spans_made;
};

#define PLACE(field) (uint8_t) offsetof(struct own_span, field)

static int describe(const struct calibrate_parts *parts)
{
	struct target_process self = {
		.generation = OWN_GENERATION,
		.flags = TARGET_GO | TARGET_SPANS | TARGET_SPANS_SEEN,
		.g_m = FIELD(own_g, m),
		.g_goid = FIELD(own_g, goid),
		.m_curg = FIELD(own_m, curg),
		.span = {.trace_id = PLACE(trace_id),
			 .span_id = PLACE(span_id),
			 .trace_flags = PLACE(trace_flags),
			 .parent_id = PLACE(parent_id),
			 .name = PLACE(name),
			 .start_time = PLACE(start),
			 .end_time = PLACE(end),
			 .status = TARGET_SPAN_NO_FIELD,
			 .kind = TARGET_SPAN_NO_FIELD},
		.span_type = SPAN_TYPE,
		.unsampled_type = UNSAMPLED_TYPE,
		.type_mask = UINT64_MAX,
	};
	__u32 pid = (__u32)getpid();

	return bpf_map__update_elem(parts->processes, &pid, sizeof(pid), &self, sizeof(self),
				    BPF_ANY);
}

static uint64_t address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static void start_span(struct own_program *p)
{
	struct own_span *span = &p->spans[p->spans_made & 1], *last = &p->spans[~p->spans_made & 1];
	struct calibrate_registers r = {address(&p->g), {0, 0, SPAN_TYPE, address(span)}};

	last->end[0] = 1;
	*span = (struct own_span){
		.trace_id = {1, 1},
		.span_id = ++p->spans_made,
		.trace_flags = 1,
		.name = address(SPAN_NAME),
		.name_size = sizeof(SPAN_NAME) - 1,
	};
	calibrate_stub_run(&r);
}

static void start_unsampled(struct own_program *p)
{
	struct calibrate_registers r = {address(&p->child),
					{0, 0, UNSAMPLED_TYPE, address(p->unsampled)}};

	calibrate_stub_run(&r);
}

/* Within a span, so that there is something to inherit. */
static void start_goroutine(struct own_program *p)
{
	struct calibrate_registers r = {address(&p->g0), {0, address(&p->child), 0, 0}};

	calibrate_stub_run(&r);
}

/* ns of CPU time for each call, in the best of the rounds. */
static uint64_t measure(struct own_program *p, void (*hit)(struct own_program *p))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = clock_thread_cpu_ns(), took;

		for (int i = 0; i < HITS; i++)
			hit(p);
		took = clock_thread_cpu_ns() - begin;
		best = took < best ? took : best;
	}
	return best / HITS;
}

/* The same with a probe on the instruction, less what it takes without. */
static int measure_probe(struct probes *probes, struct own_program *p,
			 const struct bpf_program *program, uint64_t file_offset,
			 void (*hit)(struct own_program *p), uint64_t *cost_ns)
{
	uint64_t without = measure(p, hit), with;
	int probe = -1;
	int error = probes_attach(probes, program, getpid(), "/proc/self/exe", file_offset, &probe);

	if (error)
		return error;
	with = measure(p, hit);
	probes_detach(probes, probe);
	*cost_ns = with > without ? with - without : 0;
	return 0;
}

static int measure_all(const struct calibrate_parts *parts, struct probes *probes,
		       struct own_program *p, struct capture_probe_costs *costs)
{
	uint64_t offset = 0;
	int error = own_text_offset(calibrate_stub_probed, &offset);

	if (!error)
		error = describe(parts);
	if (!error)
		error = measure_probe(probes, p, parts->span_start, offset, start_span,
				      &costs->span_ns);
	if (!error)
		error = measure_probe(probes, p, parts->span_start, offset, start_unsampled,
				      &costs->unsampled_ns);
	if (!error)
		error = measure_probe(probes, p, parts->goroutine_start, offset, start_goroutine,
				      &costs->go_ns);
	return error;
}

struct calibration {
	struct calibrate_parts parts;
	struct probes *probes;
	struct own_program program;
	struct capture_probe_costs costs;
	atomic_bool done; /* costs are there, and all hits are counted */
	int error;
	pthread_t thread;
};

static void *run(void *context)
{
	struct calibration *c = context;
	__u32 pid = (__u32)getpid();

	c->error = measure_all(&c->parts, c->probes, &c->program, &c->costs);
	bpf_map__delete_elem(c->parts.processes, &pid, sizeof(pid), 0);
	atomic_store(&c->done, true);
	return NULL;
}

int calibration_begin(const struct calibrate_parts *parts, struct calibration **out)
{
	struct calibration *c = calloc(1, sizeof(*c));
	int error = c ? probes_open(&c->probes) : -ENOMEM;

	*out = NULL;
	if (error) {
		free(c);
		return error;
	}
	c->parts = *parts;
	c->program.m.curg = address(&c->program.g);
	c->program.g0 = (struct own_g){address(&c->program.m), 0};
	c->program.g = (struct own_g){address(&c->program.m), 1};
	c->program.child = (struct own_g){address(&c->program.m), 2};
	error = -pthread_create(&c->thread, NULL, run, c);
	if (error) {
		probes_close(c->probes);
		free(c);
		return error;
	}
	*out = c;
	return 0;
}

void calibration_end(struct calibration *c)
{
	if (!c)
		return;
	pthread_join(c->thread, NULL);
	probes_close(c->probes);
	free(c);
}

bool calibration_get(const struct calibration *c, struct capture_probe_costs *costs)
{
	if (!c || !atomic_load(&c->done) || c->error)
		return false;
	*costs = c->costs;
	return true;
}

/* What the kernel side had no room to count cannot be taken off again. */
static void subtract(__u64 *from, uint64_t count)
{
	*from -= *from < count ? *from : count;
}

void calibration_subtract(const struct calibration *c, struct target_counters *counters)
{
	const uint64_t hits = ROUNDS * HITS;

	if (!c || !atomic_load(&c->done) || c->error)
		return;
	subtract(&counters->events[EVENT_SPANS_STARTED], hits);
	subtract(&counters->events[EVENT_SPANS_ENDED], hits - 1);
	subtract(&counters->events[EVENT_SPANS_UNSAMPLED], hits);
	subtract(&counters->events[EVENT_GO_STATEMENTS], hits);
	subtract(&counters->events[EVENT_GOROUTINES_STORED], 2);
}
