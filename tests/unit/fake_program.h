/* SPDX-License-Identifier: Apache-2.0 */
/* This very process plays a Go program under an open capture. */
#ifndef UNIT_FAKE_PROGRAM_H
#define UNIT_FAKE_PROGRAM_H

#include "capture_fixture.h"
#include "fake_go.h"

struct program {
	struct fixture capture;
	struct fake_m m;
	struct fake_g g0, g, child;
	struct fake_span spans[40];
	uint32_t generation;
};

static struct program *program;

/* A fresh image with one goroutine; what was known of the one before is forgotten. */
static inline int begin(void **state)
{
	struct program *p = program;
	struct target_process target = fake_target(++p->generation);

	memset(&p->m, 0, sizeof(p->m));
	p->m.g0 = &p->g0;
	p->m.curg = &p->g;
	p->g0 = (struct fake_g){.m = &p->m, .goid = 0};
	p->g = (struct fake_g){.m = &p->m, .goid = 41};
	p->child = (struct fake_g){.m = &p->m, .goid = 42};
	fake_current_g = &p->g;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	return 0;
}

static inline void run_as(struct fake_g *g)
{
	program->m.curg = g;
	fake_current_g = g;
}

/* Works until a sample was taken, and returns it. */
static inline const struct sample_record *sampled(void)
{
	struct fixture *f = &program->capture;
	uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_S * 1000000000ull;

	forget_records(f);
	while (!f->sample_count && clock_monotonic_ns() < limit_ns) {
		for (volatile int i = 0; i < 1000000; i++)
			continue;
		capture_poll(f->capture);
	}
	assert_true(f->sample_count > 0);
	assert_int_equal(f->samples[0].sample.pid, getpid());
	assert_int_equal(f->samples[0].sample.generation, program->generation);
	return &f->samples[0].sample;
}

static inline void assert_span(const struct sample_record *s, const struct fake_span *span,
			       uint8_t level, enum span_source source)
{
	const uint32_t flags = SAMPLE_SPAN | SAMPLE_UNSAMPLED | SAMPLE_SPAN_UNREADABLE;

	assert_int_equal(s->flags & flags, SAMPLE_SPAN);
	assert_int_equal(s->span.source, source);
	assert_int_equal(s->span.address, ADDRESS(span));
	assert_memory_equal(s->span.trace_id, span->context.trace_id, 16);
	assert_memory_equal(s->span.span_id, span->context.span_id, 8);
	assert_int_equal(s->span.trace_flags, span->context.flags);
	assert_int_equal(s->span.level, level);
	assert_int_equal(s->span.name_address, ADDRESS(span->name));
	assert_int_equal(s->span.name_size, span->name_size);
	assert_int_equal(s->span.name_copied, span->name_size < 96 ? span->name_size : 96);
	assert_memory_equal(s->span.name, span->name, s->span.name_copied);
}

static inline void assert_no_span(const struct sample_record *s)
{
	assert_int_equal(s->flags & (SAMPLE_SPAN | SAMPLE_SPAN_UNREADABLE), 0);
	assert_int_equal(s->span.address, 0);
}

static inline struct target_counters counters(void)
{
	struct capture_stats stats;

	capture_get_stats(program->capture.capture, &stats);
	return stats.counters;
}

static inline int set_up(void **state)
{
	static const struct {
		enum capture_probe_kind kind;
		const void *at;
	} probes[] = {
		{CAPTURE_PROBE_RUNTIME_TRACE, fake_runtime_trace},
		{CAPTURE_PROBE_RUNTIME_TRACE, fake_growing_stack},
		{CAPTURE_PROBE_WITH_VALUE, fake_with_value},
		{CAPTURE_PROBE_START_RETURN, fake_start_return},
		{CAPTURE_PROBE_NEWPROC, fake_newproc},
	};
	struct capture_config config = usual_config();
	char why[256];
	int probe;

	program = calloc(1, sizeof(*program));
	begin_capture(&program->capture, &config);
	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++)
		assert_int_equal(capture_attach(program->capture.capture, probes[i].kind, getpid(),
						"/proc/self/exe", own_file_offset(probes[i].at),
						&probe, why, sizeof(why)),
				 0);
	return 0;
}

static inline int tear_down(void **state)
{
	capture_close(program->capture.capture);
	free(program);
	return 0;
}

#endif
