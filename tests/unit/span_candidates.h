/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of goroutines of parked_program that lead to spans: candidates by words of a program that
 * says which it needs.
 */
#ifndef UNIT_SPAN_CANDIDATES_H
#define UNIT_SPAN_CANDIDATES_H

#include <spanprof/record.h>

#include "agent/binary_store.h"
#include "agent/span_sights.h"
#include "agent/targets.h"
#include "parked_stack.h"
#include "unwind/live_words.h"

#define SECOND_NS      1000000000ull
#define SECONDS_1_1970 62135596800ull /* a time with one clock reading counts from the year 1 */
#define WORDS	       3	      /* of stacks, before the candidates */
#define CANDIDATES     8

struct fixture {
	struct parked *program;
	struct parked_stack stack;
	struct binary binary;
	struct target target;
	uint64_t now_ns;
	uint64_t inner, outer; /* words with these objects; used if there is one that is */
	struct {
		struct sample_record sample;
		uint64_t words[WORDS];
		struct span_candidate candidates[CANDIDATES];
	} record;
	struct sampled_span out;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->program = parked_start();
	f->binary.go = f->program->binary;
	f->target = (struct target){
		.pid = f->program->pid,
		.process = f->program->process,
		.binary = &f->binary,
	};
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	parked_end(f->program);
	free(f);
	return 0;
}

/* A word of the stack with this object, one in use where there is any. */
static inline uint64_t slot_of(struct fixture *f, uint64_t object)
{
	uint64_t found = 0;

	for (size_t i = 0; i < f->stack.count; i++) {
		struct live_words words;

		if (f->stack.words[i] != object)
			continue;
		found = f->stack.g->sp + 8 * i;
		live_words_begin(&words, f->program->binary, 0, &f->stack.unwound);
		if (live_words_has(&words, found))
			break;
	}
	assert_true(found);
	return found;
}

/* A sample of this goroutine, without candidates. */
static inline void sample(struct fixture *f, const char *name)
{
	struct sample_record *s = &f->record.sample;

	parked_stack_read(f->program, name, &f->stack);
	f->inner = slot_of(f, f->stack.line->inner);
	f->outer = slot_of(f, f->stack.line->outer);
	assert_true(f->inner < f->outer);
	memset(&f->record, 0, sizeof(f->record));
	s->header.type = RECORD_SAMPLE;
	s->header.size_bytes = sizeof(*s) + sizeof(f->record.words);
	s->time_ns = clock_monotonic_ns();
	s->chain_count = s->kernel_count = s->stack_count = 1;
	f->now_ns = clock_wall_ns();
}

/* The next candidate: a span that began so long before the sample. */
static inline struct span_candidate *add(struct fixture *f, uint64_t slot, uint8_t id,
					 uint64_t ago_ns)
{
	struct sample_record *s = &f->record.sample;
	struct span_candidate *c = &f->record.candidates[s->candidate_count++];
	uint64_t start_ns = f->now_ns - ago_ns;

	assert_true(s->candidate_count <= CANDIDATES);
	s->header.size_bytes += sizeof(*c);
	c->slot = slot;
	c->address = 0xc000200000 + id;
	memset(c->trace_id, 0xa0 + id, sizeof(c->trace_id));
	memset(c->span_id, id, sizeof(c->span_id));
	c->start[0] = start_ns % SECOND_NS;
	c->start[1] = start_ns / SECOND_NS + SECONDS_1_1970;
	/* "ELF", of the file's head, which lies below the text */
	c->name_address = (f->program->info->text_start & ~0xfffull) - 0xfff;
	c->name_size = 3;
	c->trace_flags = 1;
	return c;
}

static inline void add_unsampled(struct fixture *f, uint64_t slot)
{
	struct span_candidate *c = add(f, slot, 0, 0);

	memset(c, 0, sizeof(*c));
	c->slot = slot;
}

static inline enum span_answer look(struct fixture *f)
{
	span_sight_of_sample(&f->target, &f->record.sample, &f->stack.unwound, &f->out);
	return f->out.answer;
}

static inline void assert_is(struct fixture *f, uint8_t id)
{
	const struct span_sight *sight = &f->out.sight;

	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_ON_STACK);
	for (int i = 0; i < 16; i++)
		assert_int_equal(sight->trace_id[i], 0xa0 + id);
	for (int i = 0; i < 8; i++)
		assert_int_equal(sight->span_id[i], id);
	assert_int_equal(f->out.address, 0xc000200000 + id);
	assert_int_equal(sight->time_ns, f->record.sample.time_ns);
	assert_int_equal(sight->name_size, 3);
	assert_memory_equal(sight->name, "ELF", 3);
	assert_true(sight->sampled);
}

#endif
