/* SPDX-License-Identifier: Apache-2.0 */
/* See stands.h. */
#include "waiting/stands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define HAND_OVER_NS 1000000000ull /* of what goes on: windows want their part of it */
#define EACH_NS	     1000000ull	   /* as often as this for all of them together */

struct stand {
	uint64_t g;
	struct stand_key key;
	uint64_t pass;
	struct growing *record; /* NULL: there was no room */
	UT_hash_handle hh;	/* by g */
};

struct stands {
	struct stand *all;
	struct growing_set growing;
	uint64_t pass;
};

int stands_open(struct stands **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

/* What was added up until now. */
static void hand_over(struct stands *s, struct stand *at, struct record_list *out)
{
	if (at->record)
		growing_leave(&s->growing, at->record, out);
	at->record = NULL;
}

/* The record has been handed over. */
static void forget(struct stands *s, struct stand *at)
{
	HASH_DEL(s->all, at);
	free(at);
}

void stands_close(struct stands *s)
{
	struct record_list rest;

	if (!s)
		return;
	record_list_open(&rest);
	stands_flush(s, &rest);
	record_list_free(&rest);
	free(s);
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
		growing_add(at->record, duration_ns);
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
	struct stand *at = find(s, g);
	struct growing *growing;

	if (!at)
		at = make(s, g);
	growing = at ? growing_join(&s->growing, record) : NULL;
	if (!growing) {
		record_list_add_or_free(out, record);
		return;
	}
	at->key = *key;
	at->pass = s->pass;
	at->record = growing;
}

void stands_end_pass(struct stands *s, bool (*is_looked_at)(void *context, uint64_t g),
		     void *context, uint64_t now_ns, struct record_list *out)
{
	uint64_t after_ns = s->growing.count * EACH_NS;
	struct stand *at, *next;

	after_ns = after_ns > HAND_OVER_NS ? after_ns : HAND_OVER_NS;
	HASH_ITER (hh, s->all, at, next) {
		if (at->pass == s->pass) {
			if (at->record)
				growing_hand_over(at->record, now_ns, after_ns, out);
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
