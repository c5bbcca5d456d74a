/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a goroutine of parked_program: its words, its frames, and what is known of them. */
#ifndef UNIT_PARKED_STACK_H
#define UNIT_PARKED_STACK_H

#include "parked_program.h"
#include "unwind/frame_rule.h"
#include "unwind/unwind.h"

#define PARKED_WORDS 4096

struct parked_stack {
	const struct parked_line *line;
	const struct goroutine_state *g;
	uint64_t words[PARKED_WORDS];
	size_t count;
	struct unwound_stack unwound;	    /* as along frame pointers */
	uint64_t starts[UNWIND_FRAMES_MAX]; /* SP in gopark and in the frames of unwound */
};

/* Where a live object is expected; main.counts knows its own by its number alone. */
static const struct parked_case {
	const char *name;
	bool inner, outer;
} parked_cases[] = {
	{"keeps", true, true},	{"gives", true, true},	 {"drops", false, true},
	{"lends", false, true}, {"counts", false, true},
};

#define PARKED_CASES (sizeof(parked_cases) / sizeof(*parked_cases))

static inline uint64_t parked_word(const struct parked_stack *s, uint64_t address)
{
	assert_true(address >= s->g->sp && (address - s->g->sp) / 8 < s->count);
	return s->words[(address - s->g->sp) / 8];
}

/* By frame pointers; where each frame begins is by its size, and must agree with them. */
static inline void parked_walk(const struct parked *p, struct parked_stack *s)
{
	struct pclntab *table = gobinary_get_pclntab(p->binary);
	struct unwound_stack *u = &s->unwound;
	uint64_t pc = s->g->pc, sp = s->g->sp, fp = s->g->fp;

	memset(u, 0, sizeof(*u));
	u->goroutine_pc = pc;
	u->goroutine_sp = sp;
	for (; fp; fp = parked_word(s, fp)) {
		struct frame_rule rule;
		int32_t delta;

		assert_int_equal(pclntab_get_sp_delta(table, pc - 1, &delta), 0);
		frame_rule_get(sp, (uint32_t)delta, &rule);
		assert_int_equal(rule.frame_record, fp);
		s->starts[u->count] = sp;
		pc = u->pcs[u->count++] = parked_word(s, fp + 8);
		sp = rule.caller_sp;
	}
	s->starts[u->count] = sp;
}

static inline void parked_words_read(const struct parked *p, const struct parked_line *line,
				     struct parked_stack *s)
{
	s->line = line;
	s->g = parked_state(p, line->goid);
	s->count = (s->g->stack_high - s->g->sp) / 8;
	assert_true(s->count > 0 && s->count <= PARKED_WORDS);
	assert_int_equal(process_read_memory(p->process, s->g->sp, s->words, 8 * s->count), 0);
}

static inline void parked_stack_read(const struct parked *p, const char *name,
				     struct parked_stack *s)
{
	parked_words_read(p, parked_line(p, name), s);
	parked_walk(p, s);
}

/* The frame of this function: index of its address among those of unwound. */
static inline uint32_t parked_frame(const struct parked *p, const struct parked_stack *s,
				    const char *function)
{
	char name[512];

	for (uint32_t i = 0; i < s->unwound.count; i++)
		if (!strcmp(parked_function(p, s->unwound.pcs[i] - 1, name, sizeof(name)),
			    function))
			return i;
	fail_msg("no frame of %s", function);
	return 0;
}

#endif
