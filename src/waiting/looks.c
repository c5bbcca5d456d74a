/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Their runtime.g's, the spans they work for, the tops of their stacks, their g's again. See
 * looks.h.
 */
#include "waiting/looks.h"

#include <errno.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "process/process.h"

void looks_begin(struct looks *l, const struct process *p, const struct gobinary_info *info,
		 bool outside)
{
	l->process = p;
	l->info = info;
	l->outside = outside;
	l->count = 0;
}

bool looks_add(struct looks *l, const struct roster_entry *entry)
{
	if (l->count == LOOKS_MAX)
		return false;
	l->all[l->count].entry = *entry;
	l->addresses[l->count++] = entry->g;
	return true;
}

void looks_again(struct looks *l, size_t i, size_t n)
{
	l->all[n].entry = l->all[i].entry;
	l->addresses[n] = l->addresses[i];
}

static bool is_of(const struct wanted *wanted, const struct goroutine_state *g)
{
	return wanted && wanted->goid == g->goid;
}

static bool may_wait(const struct goroutine_state *g)
{
	return g->goid && (goroutine_stands_still(g) || g->status == GOROUTINE_RUNNING);
}

/* Moves on to the next span that it may work for. */
static void take_next_span(struct look *look, const struct waiting_span *spans)
{
	const struct wanted *from = look->own_left ? look->entry.own : look->entry.older;

	look->span_is = LOOK_SEARCHES;
	if (look->own_left) {
		look->level = (uint8_t)--look->own_left;
		look->source = look->level || !from->inherited ? SPAN_OWN : SPAN_INHERITED;
	} else if (look->older_left) {
		look->level = (uint8_t)--look->older_left;
		look->source = look->level || !from->inherited ? SPAN_OLDER : SPAN_INHERITED;
	} else {
		look->span_is = LOOK_NONE;
		look->told = (struct waiting_span){0};
		return;
	}
	look->told = spans[from->first_span + look->level];
}

static void begin(struct look *look, const struct waiting_span *spans)
{
	const struct wanted *own = look->entry.own, *older = look->entry.older;
	bool waits = may_wait(&look->g);

	look->own_left = waits && is_of(own, &look->g) ? own->span_count : 0;
	look->older_left = waits && is_of(older, &look->g) ? older->span_count : 0;
	take_next_span(look, spans);
}

static void judge_span(const struct looks *l, struct look *look, const struct remote_piece *piece,
		       const struct waiting_span *spans)
{
	if (!piece->read) {
		look->span_is = LOOK_UNREADABLE;
		return;
	}
	span_memory_decode(&l->info->span, piece->address, piece->to, &look->span);
	if (memcmp(look->span.span_id, &look->told.span_id, sizeof(look->told.span_id)) ||
	    !span_memory_is_open(&look->span))
		take_next_span(look, spans);
	else
		look->span_is = look->told.hides ? LOOK_UNSAMPLED : LOOK_OPEN;
}

/* One step inwards to outwards for all that still search; their number, or a negative errno. */
static int search(struct looks *l, const struct waiting_span *spans)
{
	size_t size = span_memory_size(&l->info->span);
	struct look *of[LOOKS_MAX];
	int count = 0, error;

	if (size > LOOK_SPAN_BYTES_MAX)
		return -ENOTSUP;
	for (size_t i = 0; i < l->count; i++) {
		if (l->all[i].span_is != LOOK_SEARCHES)
			continue;
		of[count] = &l->all[i];
		l->pieces[count] = (struct remote_piece){l->all[i].told.address,
							 l->span_bytes[count], size, false};
		count++;
	}
	error = count ? remote_pieces_read(l->process, l->pieces, (size_t)count) : 0;
	if (error)
		return error;
	for (int i = 0; i < count; i++)
		judge_span(l, of[i], &l->pieces[i], spans);
	return count;
}

static int read_tops(struct looks *l)
{
	struct look *of[LOOKS_MAX];
	size_t count = 0;
	int error;

	for (size_t i = 0; i < l->count; i++) {
		struct look *look = &l->all[i];

		look->top.count = 0;
		if (!look_counts(l, look) || !look_has_stack(look))
			continue;
		of[count] = look;
		l->pieces[count++] = (struct remote_piece){look->g.sp, look->top.words,
							   parked_top_bytes(&look->g), false};
	}
	error = count ? remote_pieces_read(l->process, l->pieces, count) : 0;
	for (size_t i = 0; i < count && !error; i++)
		if (l->pieces[i].read)
			of[i]->top.count = l->pieces[i].size / sizeof(*of[i]->top.words);
	return error;
}

static bool is_same(const struct goroutine_state *a, const struct goroutine_state *b)
{
	return a->goid == b->goid && a->status == b->status && a->wait_reason == b->wait_reason &&
	       a->sp == b->sp && a->pc == b->pc && a->in_syscall == b->in_syscall;
}

int looks_read(struct looks *l, const struct waiting_span *spans)
{
	int error = goroutines_read(l->process, l->info, l->addresses, l->count, l->states);
	int searching;

	if (error)
		return error;
	for (size_t i = 0; i < l->count; i++) {
		l->all[i].g = l->states[i];
		begin(&l->all[i], spans);
	}
	while ((searching = search(l, spans)) > 0)
		continue;
	error = searching;
	if (!error)
		error = read_tops(l);
	if (!error)
		error = goroutines_read(l->process, l->info, l->addresses, l->count, l->states);
	for (size_t i = 0; i < l->count && !error; i++)
		l->all[i].moved = !is_same(&l->all[i].g, &l->states[i]);
	return error;
}

bool look_has_span(const struct look *look)
{
	return look->span_is == LOOK_OPEN || look->span_is == LOOK_UNREADABLE;
}

bool look_counts(const struct looks *l, const struct look *look)
{
	return look_has_span(look) || (l->outside && may_wait(&look->g));
}

bool look_has_stack(const struct look *look)
{
	return look->g.status != GOROUTINE_RUNNING;
}

/* Its g alone may be as it was when it has been away and come back. */
bool look_is_still(const struct looks *l, const struct look *look)
{
	size_t bytes = look->top.count * sizeof(*look->top.words);
	struct goroutine_state now;
	struct parked_top again;

	return !process_read_memory(l->process, look->g.sp, again.words, bytes) &&
	       !memcmp(again.words, look->top.words, bytes) &&
	       !goroutines_read(l->process, l->info, &look->g.g, 1, &now) &&
	       is_same(&look->g, &now);
}
