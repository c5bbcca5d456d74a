/* SPDX-License-Identifier: Apache-2.0 */
/* What goroutines did that was not on a CPU: times by stack, resource and span. */
#include <stddef.h>
#include <string.h>

#include "profile/profile_tables.h"
#include "spans/spans.h"

static const char *const words[PROFILE_WAIT_KINDS] = {
	[PROFILE_WAIT_PARKED] = "waiting",	    [PROFILE_WAIT_RUNNABLE] = "runnable",
	[PROFILE_WAIT_SYSCALL] = "syscall",	    [PROFILE_WAIT_NO_CPU] = "not on cpu",
	[PROFILE_WAIT_THROTTLED] = "cpu throttled",
};

const char *profile_wait_word(enum profile_wait_kind kind)
{
	return words[kind];
}

enum profile_wait_kind profile_wait_kind_of(const char *state)
{
	for (int kind = PROFILE_WAIT_RUNNABLE; kind < PROFILE_WAIT_KINDS; kind++) {
		size_t size = strlen(words[kind]);

		if (state[0] == '[' && !strncmp(state + 1, words[kind], size) &&
		    (state[1 + size] == ']' || state[1 + size] == ':'))
			return kind;
	}
	return PROFILE_WAIT_PARKED;
}

int profile_sum_up_wait(struct profile *p, const struct profile_wait *key, uint64_t ns)
{
	struct profile_wait *row;
	uint32_t handle;
	int err = table_intern_row(&p->waits, key, offsetof(struct profile_wait, ns), &handle);

	if (err)
		return err;
	row = table_row(&p->waits, handle);
	row->ns += ns;
	return 0;
}

int profile_add_wait_to_stack(struct profile *p, const struct sample_input *sample, uint32_t stack,
			      enum profile_wait_kind kind, uint64_t ns)
{
	struct profile_wait key;
	int err;

	memset(&key, 0, sizeof(key)); /* rows are compared as bytes */
	key.stack = stack;
	key.resource = sample->resource < p->resources.count ? sample->resource : 0;
	key.span = spans_get(p->spans, sample->span) ? sample->span : 0;
	key.kind = kind;
	err = profile_sum_up_wait(p, &key, ns);
	if (err)
		profile_drop_wait(p, ns);
	return err;
}

int profile_add_wait(struct profile *p, const struct sample_input *sample,
		     enum profile_wait_kind kind, uint64_t ns)
{
	uint32_t stack;
	int err = profile_add_stack(p, sample, &stack);

	if (!err)
		return profile_add_wait_to_stack(p, sample, stack, kind, ns);
	profile_drop_wait(p, ns);
	return err;
}

void profile_drop_wait(struct profile *p, uint64_t ns)
{
	p->waits_dropped_ns += ns;
}

void profile_set_look_interval(struct profile *p, uint64_t ns)
{
	p->look_interval_ns = ns;
}
