/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample records made by hand: stacks of a real Go program's functions, laid out as Go does it on
 * this architecture, with the registers and the words that the kernel side would have sent.
 */
#ifndef UNIT_STACK_SCENE_H
#define UNIT_STACK_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <spanprof/record.h>

#include "gobinary/gobinary.h"

#define SCENE_WORDS 256

/* A stack under construction, from its top (the leaf) to its root. */
struct scene_stack {
	uint64_t base;
	uint64_t words[SCENE_WORDS];
	uint64_t pc, sp, fp;
	uint64_t next_sp;
	uint64_t *record; /* where the frame-pointer register of the frame above points to */
	uint64_t *caller; /* where the return address of the frame above stands */
	uint64_t *link; /* arm64: where an injected call saved LR for the next frame; NULL: none */
	uint64_t chain[64];
	size_t chain_count;
};

struct scene {
	struct pclntab *table;
	uint64_t bias;
};

static inline struct go_function scene_function(const struct scene *s, const char *name)
{
	struct go_function f;

	assert_int_equal(pclntab_find_name(s->table, name, &f), 0);
	return f;
}

static inline int32_t scene_delta(const struct scene *s, uint64_t pc)
{
	int32_t delta;

	assert_int_equal(pclntab_get_sp_delta(s->table, pc - s->bias, &delta), 0);
	return delta;
}

/* The first address of [start, end) at which the frame has this size; −1: the largest it gets. */
static inline uint64_t scene_pc_in(const struct scene *s, uint64_t start, uint64_t end,
				   int32_t size)
{
	int32_t delta, largest = 0;

	/* Between functions, which belongs to the one before, no size is known. */
	for (uint64_t at = start; at < end && !pclntab_get_sp_delta(s->table, at, &delta); at++)
		if (delta > largest)
			largest = delta;
	for (uint64_t at = start; at < end && !pclntab_get_sp_delta(s->table, at, &delta); at++)
		if (delta == (size < 0 ? largest : size))
			return at + s->bias;
	fail_msg("no frame of %d bytes", size);
	return 0;
}

static inline uint64_t scene_pc_at(const struct scene *s, const char *name, int32_t size)
{
	struct go_function f = scene_function(s, name);

	return scene_pc_in(s, f.entry, f.end, size);
}

/* An address within a function's body, where its frame is complete; good as a return address. */
static inline uint64_t scene_body_in(const struct scene *s, uint64_t start, uint64_t end)
{
	uint64_t pc = scene_pc_in(s, start, end, -1) + 1;

	assert_int_equal(scene_delta(s, pc), scene_delta(s, pc - 1));
	return pc;
}

static inline uint64_t scene_body(const struct scene *s, const char *name)
{
	struct go_function f = scene_function(s, name);

	return scene_body_in(s, f.entry, f.end);
}

/*
 * Adds the next frame towards the root, which stands at `pc`. `keeps_record`: it has set the
 * frame-pointer register, and has saved its caller's in the place for it.
 */
static inline void scene_push(const struct scene *s, struct scene_stack *st, uint64_t pc,
			      bool keeps_record)
{
	uint64_t size = (uint64_t)scene_delta(s, pc), sp = st->next_sp;
#if defined(__aarch64__)
	uint64_t slot = sp, record = sp - 8, caller_sp = sp + size;
#else
	uint64_t slot = sp + size, record = slot - 8, caller_sp = slot + 8;
#endif

	if (!st->pc) {
		st->pc = pc;
		st->sp = sp;
	} else {
		*st->caller = pc;
	}
	if (keeps_record) {
		*st->record = record;
		st->record = &st->words[(record - st->base) / 8];
	}
	st->caller = st->link && !size ? st->link : &st->words[(slot - st->base) / 8];
	st->link = NULL;
	st->next_sp = caller_sp;
	assert_true((caller_sp - st->base) / 8 < SCENE_WORDS);
}

/* The frame just added is that of a call that the runtime injected. */
static inline void scene_inject(struct scene_stack *st)
{
#if defined(__aarch64__)
	st->link = &st->words[(st->next_sp - st->base) / 8];
	st->next_sp += 16;
#endif
}

static inline void scene_begin(struct scene_stack *st, uint64_t base)
{
	memset(st, 0, sizeof(*st));
	st->base = base;
	st->next_sp = base + 8 * 4; /* a little below for what lies under SP */
	st->record = &st->fp;
}

/* The outermost caller's return address, and the chain as BPF walks it. */
static inline void scene_end(struct scene_stack *st, uint64_t root)
{
	uint64_t fp = st->fp;

	*st->caller = root;
	while (fp && st->chain_count < 64) {
		const uint64_t *frame = &st->words[(fp - st->base) / 8];

		st->chain[st->chain_count++] = frame[1];
		fp = frame[0];
	}
}

/* A record with room for all words that may stand in it. */
struct scene_record {
	struct sample_record sample;
	uint64_t words[2 * RECORD_WORDS_MAX];
	size_t used;
};

static inline void scene_add_words(struct scene_record *r, __u16 *count, const uint64_t *words,
				   size_t number)
{
	memcpy(r->words + r->used, words, number * sizeof(*words));
	r->used += number;
	*count = (__u16)number;
	r->sample.header.size_bytes = (__u32)(sizeof(r->sample) + r->used * 8);
}

/* Words of a stack from `sp` upward, at most `max`. */
static inline void scene_add_stack(struct scene_record *r, __u16 *count,
				   const struct scene_stack *st, uint64_t sp, size_t max)
{
	size_t first = (sp - st->base) / 8, number = (st->next_sp - sp) / 8;

	scene_add_words(r, count, st->words + first, number < max ? number : max);
}

/* One stack: registers, `chain_count` of its chain, `stack_max` of its words. */
static inline void scene_sample(struct scene_record *r, const struct scene_stack *st,
				size_t chain_count, size_t stack_max)
{
	memset(r, 0, sizeof(*r));
	r->sample.header.type = RECORD_SAMPLE;
	r->sample.header.size_bytes = sizeof(r->sample);
	r->sample.pc = st->pc;
	r->sample.sp = st->sp;
	r->sample.fp = st->fp;
	scene_add_words(r, &r->sample.chain_count, st->chain,
			chain_count < st->chain_count ? chain_count : st->chain_count);
	scene_add_stack(r, &r->sample.stack_count, st, st->sp, stack_max);
}

/* Two stacks: the thread's, which is not the goroutine's own, and that with its saved registers. */
static inline void scene_sample_two(struct scene_record *r, const struct scene_stack *thread,
				    const struct scene_stack *goroutine, uint32_t flags)
{
	memset(r, 0, sizeof(*r));
	r->sample.header.type = RECORD_SAMPLE;
	r->sample.flags = flags;
	r->sample.pc = thread->pc;
	r->sample.sp = thread->sp;
	r->sample.fp = thread->fp;
	r->sample.curg_pc = goroutine->pc;
	r->sample.curg_sp = goroutine->sp;
	r->sample.curg_fp = goroutine->fp;
	scene_add_words(r, &r->sample.chain_count, thread->chain, thread->chain_count);
	scene_add_words(r, &r->sample.curg_count, goroutine->chain, goroutine->chain_count);
	scene_add_stack(r, &r->sample.stack_count, thread, thread->sp, RECORD_STACK_SHORT);
	scene_add_stack(r, &r->sample.curg_stack_count, goroutine, goroutine->sp,
			RECORD_STACK_SHORT);
}

#endif
