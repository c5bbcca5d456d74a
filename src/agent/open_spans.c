/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some dozen goroutines at a time: their states, their stacks, what those lead to, their states
 * again. What was read counts if the goroutine has not moved meanwhile. See open_spans.h.
 */
#include "agent/open_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/reserve.h"
#include "gobinary/gobinary.h"
#include "gobinary/pclntab.h"
#include "process/process.h"
#include "process/remote_pieces.h"

#define GOROUTINES_MAX (1 << 20) /* looked at */
#define HOLDERS_MAX    (1 << 18)
#define FRAMES_MAX     (1 << 22) /* of all stacks that are kept */
#define NAMES_MAX      (1 << 25) /* bytes of all names */
#define BATCH	       64
#define STACKS_BYTES   (4 << 20) /* of a batch; a single stack may take all of it */
#define ROUNDS	       40
#define PAUSE_NS       1000000 /* 40 ms: the runtime takes CPUs away after 10 */

struct batch {
	size_t count;
	struct goroutine_state states[BATCH], again[BATCH];
	uint64_t list[BATCH]; /* their addresses */
	struct remote_piece stacks[BATCH];
	struct stack_spans_found found[BATCH];
	bool searched[BATCH];
	uint8_t *bytes;					    /* STACK_BYTES_MAX for each */
	struct remote_piece names[BATCH * STACK_SPANS_MAX]; /* of the spans found, in their order */
	char name_bytes[BATCH * STACK_SPANS_MAX][SPAN_MEMORY_NAME_MAX];
};

struct look {
	struct stack_spans_process process;
	const struct gobinary_info *info;
	struct stack_spans *search;
	struct batch *batch;
	uint64_t *list; /* addresses of runtime.g's */
	size_t count, next;
	uint64_t *ran; /* those that ran */
	size_t ran_count;
	struct open_spans *out;
};

static void keep_frames(struct open_spans *o, const struct stack_spans_found *found,
			struct open_goroutine *g)
{
	size_t count =
		found->frame_count < STACK_FRAMES_MAX ? found->frame_count : STACK_FRAMES_MAX;

	if (!reserve((void **)&o->frames, &o->frame_room, o->frame_count, count, FRAMES_MAX,
		     sizeof(*o->frames)))
		count = 0;
	g->first_frame = (uint32_t)o->frame_count;
	g->frame_count = (uint32_t)count;
	g->deeper = (uint32_t)(found->frame_count - count);
	if (count)
		memcpy(o->frames + o->frame_count, found->frames, count * sizeof(*o->frames));
	o->frame_count += count;
}

/* Index of the innermost that it holds itself; else of the youngest to which a context leads. */
static size_t choose(const struct stack_spans_found *found)
{
	size_t chosen = 0;

	if (found->count)
		return found->count - 1;
	for (size_t i = 1; i < found->led_to; i++)
		if (go_time_wall_ns(found->spans[i].start) >
		    go_time_wall_ns(found->spans[chosen].start))
			chosen = i;
	return chosen;
}

static void keep_name(struct open_spans *o, const struct remote_piece *name,
		      struct open_holder *holder)
{
	if (!name->read || !name->size ||
	    !reserve((void **)&o->names, &o->name_room, o->name_bytes, name->size, NAMES_MAX, 1))
		return;
	holder->name = (uint32_t)o->name_bytes;
	holder->name_size = (uint32_t)name->size;
	memcpy(o->names + o->name_bytes, name->to, name->size);
	o->name_bytes += name->size;
}

static void keep(struct open_spans *o, const struct goroutine_state *state,
		 const struct stack_spans_found *found, const struct remote_piece *names)
{
	size_t spans = found->count + found->led_to;
	struct open_goroutine *g;

	if (!reserve((void **)&o->goroutines, &o->goroutine_room, o->goroutine_count, 1,
		     HOLDERS_MAX, sizeof(*o->goroutines)) ||
	    !reserve((void **)&o->holders, &o->holder_room, o->holder_count, spans, HOLDERS_MAX,
		     sizeof(*o->holders))) {
		o->left_out++;
		return;
	}
	g = &o->goroutines[o->goroutine_count];
	g->state = *state;
	keep_frames(o, found, g);
	for (size_t i = 0; i < spans; i++) {
		struct open_holder *holder = &o->holders[o->holder_count++];

		*holder = (struct open_holder){.span = found->spans[i],
					       .goroutine = (uint32_t)o->goroutine_count,
					       .by_context = i >= found->count,
					       .is_work = i == choose(found)};
		keep_name(o, &names[i], holder);
	}
	o->goroutine_count++;
}

static void note_running(struct look *l, const struct goroutine_state *g)
{
	if (l->ran_count < OPEN_SPANS_RAN_MAX)
		l->out->ran_goids[l->ran_count] = g->goid;
	l->ran[l->ran_count++] = g->g;
}

/* The next of the list, as far as they exist and stand still, with their stacks. */
static int read_batch(struct look *l)
{
	size_t left = l->count - l->next, used = 0, i;
	struct batch *b = l->batch;
	int error;

	left = left < BATCH ? left : BATCH;
	error = goroutines_read(l->process.process, l->info, l->list + l->next, left, b->states);
	b->count = 0;
	for (i = 0; i < left && !error; i++) {
		const struct goroutine_state *g = &b->states[i];
		size_t bytes = (size_t)(g->stack_high - g->sp) & ~7ul;

		if (!goroutine_exists(g))
			continue;
		if (!goroutine_stands_still(g)) {
			note_running(l, g);
			continue;
		}
		bytes = bytes < STACKS_BYTES ? bytes : STACKS_BYTES;
		if (used + bytes > STACKS_BYTES)
			break; /* with the next batch */
		b->stacks[b->count] = (struct remote_piece){g->sp, b->bytes + used, bytes, false};
		used += bytes;
		b->list[b->count] = g->g;
		b->states[b->count++] = *g;
	}
	l->next += i;
	return error ? error : remote_pieces_read(l->process.process, b->stacks, b->count);
}

static int search_batch(struct look *l)
{
	struct batch *b = l->batch;
	int error = 0;

	for (size_t i = 0; i < b->count && !error; i++) {
		const struct goroutine_state *g = &b->states[i];
		struct still_stack stack = {
			g->pc, {g->sp, b->stacks[i].to, b->stacks[i].size / sizeof(__u64)}};

		b->searched[i] = b->stacks[i].read;
		b->found[i].count = b->found[i].led_to = 0;
		/* One that has not begun to run holds nothing yet. */
		if (!b->searched[i] || pclntab_begins_at(gobinary_get_pclntab(l->process.binary),
							 g->pc - l->process.bias))
			continue;
		error = stack_spans_find(l->search, g->g, &stack, &b->found[i]);
		if (!error)
			error = stack_spans_follow_contexts(l->search, &b->found[i]);
		/* Its span may be known by the very function that was interrupted. */
		if (b->found[i].interrupted && !b->found[i].count)
			b->searched[i] = false;
	}
	return error;
}

static int read_names(struct look *l)
{
	struct batch *b = l->batch;
	size_t count = 0;

	for (size_t i = 0; i < b->count; i++) {
		for (size_t k = 0; k < b->found[i].count + b->found[i].led_to; k++, count++) {
			const struct span_memory *span = &b->found[i].spans[k];
			size_t size = span->name_size < SPAN_MEMORY_NAME_MAX
					      ? (size_t)span->name_size
					      : SPAN_MEMORY_NAME_MAX;

			b->names[count] = (struct remote_piece){span->name_address,
								b->name_bytes[count], size, false};
		}
	}
	return remote_pieces_read(l->process.process, b->names, count);
}

static int look_at_batch(struct look *l)
{
	struct batch *b = l->batch;
	size_t spans = 0;
	int error = read_batch(l);

	if (!error)
		error = search_batch(l);
	if (!error)
		error = read_names(l);
	if (!error)
		error = goroutines_read(l->process.process, l->info, b->list, b->count, b->again);
	for (size_t i = 0, next; i < b->count && !error; i++, spans = next) {
		next = spans + b->found[i].count + b->found[i].led_to;
		if (!b->searched[i] || !goroutine_has_stayed(&b->states[i], &b->again[i])) {
			note_running(l, &b->states[i]);
			continue;
		}
		l->out->looked_at++;
		if (next > spans)
			keep(l->out, &b->states[i], &b->found[i], &b->names[spans]);
	}
	return error;
}

/* All of the list; then, some time later, those that ran. */
static int look_at_all(struct look *l)
{
	int error = 0;

	for (int round = 0; round < ROUNDS && l->count && !error; round++) {
		uint64_t *list = l->list;

		if (round)
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		l->ran_count = l->next = 0;
		while (l->next < l->count && !error)
			error = look_at_batch(l);
		l->list = l->ran;
		l->count = l->ran_count;
		l->ran = list;
	}
	l->out->ran = l->ran_count;
	return error;
}

static int compare(uint64_t left, uint64_t right)
{
	return left < right ? -1 : left > right;
}

static int in_order(const void *left, const void *right)
{
	const struct open_holder *a = left, *b = right;
	int order = compare(go_time_wall_ns(a->span.start), go_time_wall_ns(b->span.start));

	if (!order)
		order = compare(a->span.address, b->span.address);
	if (!order)
		order = memcmp(a->span.span_id, b->span.span_id, sizeof(a->span.span_id));
	if (!order)
		order = a->by_context - b->by_context;
	return order ? order : compare(a->goroutine, b->goroutine);
}

size_t open_spans_holders(const struct open_spans *o, size_t first)
{
	size_t count = 1;

	while (first + count < o->holder_count &&
	       o->holders[first + count].span.address == o->holders[first].span.address &&
	       !memcmp(o->holders[first + count].span.span_id, o->holders[first].span.span_id,
		       sizeof(o->holders[first].span.span_id)))
		count++;
	return count;
}

/* Brings the goroutines into the order in which the holders name them. */
static int number_goroutines(struct open_spans *o)
{
	struct open_goroutine *ordered = calloc(o->goroutine_count + 1, sizeof(*ordered));
	uint32_t *numbers = calloc(o->goroutine_count + 1, sizeof(*numbers)); /* new ones, from 1 */
	uint32_t count = 0;
	int error = ordered && numbers ? 0 : -ENOMEM;

	for (size_t i = 0; i < o->holder_count && !error; i++) {
		uint32_t *number = &numbers[o->holders[i].goroutine];

		if (!*number) {
			ordered[count] = o->goroutines[o->holders[i].goroutine];
			*number = ++count;
		}
		o->holders[i].goroutine = *number - 1;
		if (o->holders[i].is_work)
			ordered[*number - 1].works_for = (uint32_t)i;
	}
	free(numbers);
	if (error) {
		free(ordered);
		return error;
	}
	free(o->goroutines);
	o->goroutines = ordered;
	return 0;
}

int open_spans_read(const struct stack_spans_process *process, struct open_spans *out)
{
	struct look l = {.process = *process, .out = out};
	int error;

	memset(out, 0, sizeof(*out));
	out->now_ns = l.process.now_ns = clock_wall_ns();
	l.info = gobinary_get_info(process->binary);
	error = goroutines_list(process->process, l.info, process->bias, GOROUTINES_MAX, &l.list,
				&l.count);
	if (error)
		return error;
	l.ran = malloc(l.count * sizeof(*l.ran) + 1);
	l.batch = calloc(1, sizeof(*l.batch));
	if (l.batch)
		l.batch->bytes = malloc(STACKS_BYTES);
	error = l.ran && l.batch && l.batch->bytes ? stack_spans_open(&l.process, &l.search)
						   : -ENOMEM;
	if (!error)
		error = look_at_all(&l);
	if (!error && out->holder_count) {
		qsort(out->holders, out->holder_count, sizeof(*out->holders), in_order);
		error = number_goroutines(out);
	}
	for (size_t i = 0; i < out->holder_count; i += open_spans_holders(out, i))
		out->span_count++;
	stack_spans_close(l.search);
	if (l.batch)
		free(l.batch->bytes);
	free(l.batch);
	free(l.ran);
	free(l.list);
	return error;
}

void open_spans_close(struct open_spans *o)
{
	free(o->goroutines);
	free(o->holders);
	free(o->frames);
	free(o->names);
	memset(o, 0, sizeof(*o));
}
