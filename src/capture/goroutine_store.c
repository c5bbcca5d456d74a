/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted list of live generations, and one pass over the map after some have gone: the map holds
 * tens of thousands of entries, each of which is looked up in the list.
 */
#include "capture/goroutine_store.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"

#define LIVE_MAX 4096 /* as many as the processes map holds */

/* As in bpf/maps.bpf.h. */
#define SPANS_MAX 16
#define HIDES	  (1ull << 63)
#define OLDER	  1
#define BATCH	  2048

struct stored_key {
	uint32_t generation;
	uint32_t older;
	uint64_t g;
};

struct stored_goroutine {
	uint64_t goid;
	uint32_t depth;
	uint32_t inherited;
	uint64_t kept;
	struct {
		uint64_t address;
		uint8_t span_id[8];
	} spans[SPANS_MAX];
};

struct goroutine_store {
	int map_fd;
	uint32_t live[LIVE_MAX]; /* ascending */
	size_t live_count;
	bool dirty;
};

int goroutine_store_open(int map_fd, struct goroutine_store **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->map_fd = map_fd;
	return 0;
}

void goroutine_store_close(struct goroutine_store *s)
{
	free(s);
}

/* The index of the first generation that is not below the given one. */
static size_t find_place(const struct goroutine_store *s, uint32_t generation)
{
	size_t low = 0, high = s->live_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->live[middle] < generation)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct goroutine_store *s, size_t place, uint32_t generation)
{
	return place < s->live_count && s->live[place] == generation;
}

static bool is_live(const struct goroutine_store *s, uint32_t generation)
{
	return is_at(s, find_place(s, generation), generation);
}

int goroutine_store_add(struct goroutine_store *s, uint32_t generation)
{
	size_t at = find_place(s, generation);

	if (is_at(s, at, generation))
		return 0;
	if (s->live_count == LIVE_MAX)
		return -ENOSPC;
	memmove(&s->live[at + 1], &s->live[at], (s->live_count - at) * sizeof(*s->live));
	s->live[at] = generation;
	s->live_count++;
	return 0;
}

void goroutine_store_forget(struct goroutine_store *s, uint32_t generation)
{
	size_t at = find_place(s, generation);

	if (!is_at(s, at, generation))
		return;
	s->live_count--;
	memmove(&s->live[at], &s->live[at + 1], (s->live_count - at) * sizeof(*s->live));
	s->dirty = true;
}

int goroutine_store_add_older(struct goroutine_store *s, uint32_t generation, uint64_t g,
			      uint64_t goid, const struct capture_older_span *spans, size_t count)
{
	struct stored_key key = {.generation = generation, .older = OLDER, .g = g};
	struct stored_goroutine value = {.goid = goid};
	size_t first = count > SPANS_MAX ? count - SPANS_MAX : 0;

	for (size_t i = first; i < count; i++) {
		value.spans[value.depth].address = spans[i].address;
		memcpy(value.spans[value.depth++].span_id, spans[i].span_id, 8);
	}
	if (bpf_map_update_elem(s->map_fd, &key, &value, BPF_ANY))
		return errno == E2BIG ? -ENOSPC : -errno;
	return 0;
}

int goroutine_store_push_older(struct goroutine_store *s, uint32_t generation, uint64_t g,
			       uint64_t goid, const struct capture_older_span *span)
{
	struct stored_key key = {.generation = generation, .older = OLDER, .g = g};
	struct stored_goroutine value;

	if (bpf_map_lookup_elem(s->map_fd, &key, &value) || value.goid != goid ||
	    value.depth >= SPANS_MAX)
		return goroutine_store_add_older(s, generation, g, goid, span, 1);
	for (uint32_t i = 0; i < value.depth; i++)
		if (!memcmp(value.spans[i].span_id, span->span_id, sizeof(span->span_id)))
			return 0;
	value.spans[value.depth].address = span->address;
	memcpy(value.spans[value.depth++].span_id, span->span_id, sizeof(span->span_id));
	return bpf_map_update_elem(s->map_fd, &key, &value, BPF_ANY) ? -errno : 0;
}

/* Calls `each` for every entry, some hundred a system call. */
static int walk(struct goroutine_store *s,
		void (*each)(void *context, const struct stored_key *key,
			     const struct stored_goroutine *value),
		void *context)
{
	LIBBPF_OPTS(bpf_map_batch_opts, options);
	struct stored_key *keys = calloc(BATCH, sizeof(*keys));
	struct stored_goroutine *values = calloc(BATCH, sizeof(*values));
	uint32_t place = 0, count;
	bool more = keys && values;
	int error = more ? 0 : -ENOMEM;

	for (bool first = true; more; first = false) {
		count = BATCH;
		error = bpf_map_lookup_batch(s->map_fd, first ? NULL : &place, &place, keys, values,
					     &count, &options)
				? -errno
				: 0;
		more = !error;
		if (error == -ENOENT)
			error = 0; /* these were the last */
		for (uint32_t i = 0; !error && i < count && i < BATCH; i++)
			each(context, &keys[i], &values[i]);
	}
	free(keys);
	free(values);
	return error;
}

struct span_walk {
	void (*each)(void *context, const struct capture_stored_span *span);
	void *context;
};

static void tell_spans(void *context, const struct stored_key *key,
		       const struct stored_goroutine *g)
{
	const struct span_walk *w = context;
	struct capture_stored_span span = {
		.generation = key->generation,
		.older = key->older,
		.g = key->g,
		.goid = g->goid,
	};

	for (uint32_t i = 0; i < g->depth && i < SPANS_MAX; i++) {
		/* What only hides a span is none; an inherited one is its creator's, too. */
		if (g->spans[i].address & HIDES || (!i && g->inherited))
			continue;
		span.address = g->spans[i].address;
		memcpy(span.span_id, g->spans[i].span_id, sizeof(span.span_id));
		w->each(w->context, &span);
	}
}

int goroutine_store_each_span(struct goroutine_store *s,
			      void (*each)(void *context, const struct capture_stored_span *span),
			      void *context)
{
	struct span_walk w = {each, context};

	return walk(s, tell_spans, &w);
}

struct goroutine_walk {
	void (*each)(void *context, const struct capture_stored_goroutine *goroutine);
	void *context;
};

static void tell_goroutine(void *context, const struct stored_key *key,
			   const struct stored_goroutine *g)
{
	const struct goroutine_walk *w = context;
	struct capture_goroutine_span spans[SPANS_MAX];
	struct capture_stored_goroutine goroutine = {
		.generation = key->generation,
		.older = key->older,
		.g = key->g,
		.goid = g->goid,
		.inherited = g->inherited,
		.span_count = g->depth < SPANS_MAX ? g->depth : SPANS_MAX,
		.spans = spans,
	};

	for (size_t i = 0; i < goroutine.span_count; i++) {
		spans[i].address = g->spans[i].address & ~HIDES;
		spans[i].hides = g->spans[i].address & HIDES;
		memcpy(&spans[i].span_id, g->spans[i].span_id, sizeof(spans[i].span_id));
	}
	w->each(w->context, &goroutine);
}

int goroutine_store_each(struct goroutine_store *s,
			 void (*each)(void *context,
				      const struct capture_stored_goroutine *goroutine),
			 void *context)
{
	struct goroutine_walk w = {each, context};

	return walk(s, tell_goroutine, &w);
}

void goroutine_store_remove(struct goroutine_store *s,
			    const struct capture_stored_goroutine *goroutine)
{
	struct stored_key key = {goroutine->generation, goroutine->older, goroutine->g};
	struct stored_goroutine now;

	if (!bpf_map_lookup_elem(s->map_fd, &key, &now) && now.goid == goroutine->goid)
		bpf_map_delete_elem(s->map_fd, &key);
}

/* Deletes those of `generation`; 0: of all that are not live. */
static void delete_entries(struct goroutine_store *s, uint32_t generation)
{
	struct stored_key key, next;
	bool more = !bpf_map_get_next_key(s->map_fd, NULL, &key);

	while (more) {
		/* The next key first: from a deleted one the walk would start anew. */
		more = !bpf_map_get_next_key(s->map_fd, &key, &next);
		if (generation ? key.generation == generation : !is_live(s, key.generation))
			bpf_map_delete_elem(s->map_fd, &key);
		key = next;
	}
}

void goroutine_store_clear(struct goroutine_store *s, uint32_t generation)
{
	if (generation)
		delete_entries(s, generation);
}

void goroutine_store_sweep(struct goroutine_store *s)
{
	if (!s->dirty)
		return;
	s->dirty = false;
	delete_entries(s, 0);
}
