/* SPDX-License-Identifier: Apache-2.0 */
/* See records.h. */
#include "waiting/records.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/handle_index.h"

#define BYTES_MAX (6 << 20) /* of records that grow; beyond, each look is one of its own */

struct growing {
	struct waiting_record *record;
	uint64_t since_ns; /* of its first look */
	size_t users;
	bool is_shared;
	uint64_t hash; /* of what makes records alike */
	UT_hash_handle hh;
};

void record_list_open(struct record_list *l)
{
	*l = (struct record_list){.bytes_wanted = l->bytes_wanted};
	l->end = &l->first;
}

void record_list_add(struct record_list *l, struct waiting_record *r)
{
	r->next = NULL;
	*l->end = r;
	l->end = &r->next;
	l->bytes += waiting_record_bytes(r);
}

void record_list_add_or_free(struct record_list *out, struct waiting_record *r)
{
	if (r->duration_ns)
		record_list_add(out, r);
	else
		free(r);
}

void record_list_free(struct record_list *l)
{
	for (struct waiting_record *r = l->first, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	record_list_open(l);
}

size_t waiting_record_bytes(const struct waiting_record *r)
{
	return offsetof(struct waiting_record, sample) + r->sample.header.size_bytes;
}

/* What it holds of the stack itself is of one goroutine, and so is a span. */
static bool can_be_shared(const struct waiting_record *r)
{
	return !(r->sample.flags & (SAMPLE_SPAN | SAMPLE_SPAN_UNREADABLE)) &&
	       !r->sample.curg_stack_count;
}

static size_t frame_words(const struct sample_record *s)
{
	return (size_t)s->curg_count + s->root_count;
}

static bool is_alike(const struct waiting_record *a, const struct waiting_record *b)
{
	return a->state == b->state && a->reason == b->reason && !strcmp(a->channel, b->channel) &&
	       a->sample.flags == b->sample.flags && a->sample.curg_pc == b->sample.curg_pc &&
	       a->sample.curg_count == b->sample.curg_count &&
	       a->sample.root_count == b->sample.root_count &&
	       a->sample.root_first == b->sample.root_first &&
	       !memcmp(a->sample.words, b->sample.words,
		       frame_words(&a->sample) * sizeof(*a->sample.words));
}

static uint64_t hash_alike(const struct waiting_record *r)
{
	const uint64_t all[] = {
		r->state, r->reason, r->sample.curg_pc, handle_hash(r->channel, strlen(r->channel)),
		handle_hash(r->sample.words, frame_words(&r->sample) * sizeof(*r->sample.words))};

	return handle_hash(all, sizeof(all));
}

static struct growing *make(struct growing_set *s, struct waiting_record *record)
{
	size_t bytes = waiting_record_bytes(record);
	struct growing *g = s->bytes + bytes <= BYTES_MAX ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	g->record = record;
	g->since_ns = record->sample.time_ns;
	s->count++;
	s->bytes += bytes;
	return g;
}

static struct growing *join_shared(struct growing_set *s, struct waiting_record *record)
{
	uint64_t hash = hash_alike(record);
	struct growing *g;

	HASH_FIND(hh, s->shared, &hash, sizeof(hash), g);
	if (g && is_alike(g->record, record)) {
		g->record->duration_ns += record->duration_ns;
		free(record);
		return g;
	}
	if (g)
		return make(s, record);
	g = make(s, record);
	if (!g)
		return NULL;
	g->is_shared = true;
	g->hash = hash;
	HASH_ADD(hh, s->shared, hash, sizeof(g->hash), g);
	return g;
}

struct growing *growing_join(struct growing_set *s, struct waiting_record *record)
{
	struct growing *g = can_be_shared(record) ? join_shared(s, record) : make(s, record);

	if (g)
		g->users++;
	return g;
}

void growing_add(struct growing *g, uint64_t duration_ns)
{
	g->record->duration_ns += duration_ns;
}

void growing_leave(struct growing_set *s, struct growing *g, struct record_list *out)
{
	if (--g->users)
		return;
	if (g->is_shared)
		HASH_DEL(s->shared, g);
	s->count--;
	s->bytes -= waiting_record_bytes(g->record);
	record_list_add_or_free(out, g->record);
	free(g);
}

void growing_hand_over(struct growing *g, uint64_t now_ns, uint64_t after_ns,
		       struct record_list *out)
{
	size_t bytes = waiting_record_bytes(g->record);
	struct waiting_record *copy;

	if (!g->record->duration_ns || now_ns - g->since_ns < after_ns ||
	    out->bytes + bytes > out->bytes_wanted)
		return;
	copy = malloc(bytes);
	if (!copy)
		return; /* its time comes later */
	memcpy(copy, g->record, bytes);
	record_list_add(out, copy);
	g->record->duration_ns = 0;
	g->record->sample.time_ns = g->since_ns = now_ns;
}
