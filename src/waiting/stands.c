/* SPDX-License-Identifier: Apache-2.0 */
/* See stands.h. */
#include "waiting/stands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define HAND_OVER_NS 1000000000ull /* of what goes on: windows want their part of it */
#define EACH_NS	     1000000ull	   /* as often as this for all of them together */
#define BYTES_MAX    (6 << 20)	   /* of records that grow; beyond, each look is one of its own */

struct stand {
	uint64_t g;
	struct stand_key key;
	uint64_t pass;
	uint64_t since_ns;	       /* of the record's first look; 0: it has no time yet */
	struct waiting_record *record; /* NULL: there was no room */
	UT_hash_handle hh;	       /* by g */
};

struct stands {
	struct stand *all;
	uint64_t pass;
	size_t bytes;
};

size_t waiting_record_bytes(const struct waiting_record *r)
{
	return offsetof(struct waiting_record, sample) + r->sample.header.size_bytes;
}

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

void record_list_free(struct record_list *l)
{
	for (struct waiting_record *r = l->first, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	record_list_open(l);
}

int stands_open(struct stands **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

/* Its record is let go of by others. */
static void forget(struct stands *s, struct stand *at)
{
	HASH_DEL(s->all, at);
	free(at);
}

void stands_close(struct stands *s)
{
	struct stand *at, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->all, at, next) {
		free(at->record);
		forget(s, at);
	}
	free(s);
}

/* The first look at a process stands for no time. */
static void add_or_free(struct record_list *out, struct waiting_record *r)
{
	if (r->duration_ns)
		record_list_add(out, r);
	else
		free(r);
}

/* What was added up until now. */
static void hand_over(struct stands *s, struct stand *at, struct record_list *out)
{
	struct waiting_record *r = at->record;

	at->record = NULL;
	if (!r)
		return;
	s->bytes -= waiting_record_bytes(r);
	add_or_free(out, r);
}

static struct stand *find(const struct stands *s, uint64_t g)
{
	struct stand *at;

	HASH_FIND(hh, s->all, &g, sizeof(g), at);
	return at;
}

bool stands_go_on(struct stands *s, uint64_t g, const struct stand_key *key, uint64_t duration_ns,
		  struct record_list *out)
{
	struct stand *at = find(s, g);

	if (!at)
		return false;
	if (at->record && !memcmp(&at->key, key, sizeof(*key))) {
		at->record->duration_ns += duration_ns;
		at->pass = s->pass;
		return true;
	}
	hand_over(s, at, out);
	return false;
}

static struct stand *make(struct stands *s, uint64_t g)
{
	struct stand *at = calloc(1, sizeof(*at));

	if (!at)
		return NULL;
	at->g = g;
	HASH_ADD(hh, s->all, g, sizeof(at->g), at);
	return at;
}

void stands_begin(struct stands *s, uint64_t g, const struct stand_key *key,
		  struct waiting_record *record, struct record_list *out)
{
	size_t bytes = waiting_record_bytes(record);
	struct stand *at = find(s, g);

	if (!at)
		at = make(s, g);
	if (!at || s->bytes + bytes > BYTES_MAX) {
		add_or_free(out, record);
		return;
	}
	at->key = *key;
	at->pass = s->pass;
	at->since_ns = record->sample.time_ns;
	at->record = record;
	s->bytes += bytes;
}

/* It goes on: a copy is handed over, the record begins anew. */
static void hand_over_part(struct stand *at, uint64_t now_ns, uint64_t after_ns,
			   struct record_list *out)
{
	size_t bytes = waiting_record_bytes(at->record);
	struct waiting_record *copy;

	if (!at->record->duration_ns || now_ns - at->since_ns < after_ns ||
	    out->bytes + bytes > out->bytes_wanted)
		return;
	copy = malloc(bytes);
	if (!copy)
		return; /* its time comes later */
	memcpy(copy, at->record, bytes);
	record_list_add(out, copy);
	at->record->duration_ns = 0;
	at->record->sample.time_ns = at->since_ns = now_ns;
}

void stands_end_pass(struct stands *s, bool (*is_looked_at)(void *context, uint64_t g),
		     void *context, uint64_t now_ns, struct record_list *out)
{
	uint64_t after_ns = HASH_COUNT(s->all) * EACH_NS;
	struct stand *at, *next;

	after_ns = after_ns > HAND_OVER_NS ? after_ns : HAND_OVER_NS;
	HASH_ITER (hh, s->all, at, next) {
		if (at->pass == s->pass) {
			if (at->record)
				hand_over_part(at, now_ns, after_ns, out);
		} else if (is_looked_at(context, at->g)) {
			hand_over(s, at, out);
			forget(s, at);
		}
	}
	s->pass++;
}

void stands_flush(struct stands *s, struct record_list *out)
{
	struct stand *at, *next;

	HASH_ITER (hh, s->all, at, next) {
		hand_over(s, at, out);
		forget(s, at);
	}
}
