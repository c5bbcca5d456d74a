/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each function F all places where goroutines stand are listed, with the first few of them and
 * how many they are: so the crowd before one lock costs no more than one that waits there.
 */
#include "agent/wait_candidates.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"
#include "base/location.h"

#define PLACES_MAX 64 /* of one function that are told apart; beyond they are left out */

/* Where goroutines stand in a function, and why they do not go on. */
struct place {
	const struct frame *at;
	const char *reason;
	uint32_t count;
	uint32_t first[WAIT_CANDIDATES_MAX + 1]; /* one of them may be who asks */
};

struct function {
	const char *name;
	size_t name_size;
	struct place *places;
	size_t place_count;
	uint32_t last; /* goroutine that was added, + 1 */
};

struct wait_candidates {
	const struct standing *all;
	struct function *functions; /* each used by one that waits */
	size_t function_count;
	struct handle_index index;  /* of them, by name */
	struct function lock_waits; /* the places of all that wait for a lock */
};

static const struct {
	const char *reason;
	enum wait_for kind;
} kinds[] = {
	{"sync.Mutex.Lock", WAIT_FOR_LOCK},
	{"sync.RWMutex.RLock", WAIT_FOR_LOCK},
	{"sync.RWMutex.Lock", WAIT_FOR_LOCK},
	{"semacquire", WAIT_FOR_LOCK}, /* up to Go 1.19 */
	{"chan receive", WAIT_FOR_SIGNAL},
	{"chan send", WAIT_FOR_SIGNAL},
	{"select", WAIT_FOR_SIGNAL},
	{"sync.Cond.Wait", WAIT_FOR_SIGNAL},
	{"sync.WaitGroup.Wait", WAIT_FOR_SIGNAL},
};

enum wait_for wait_reason_kind(const char *reason)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(reason, kinds[i].reason))
			return kinds[i].kind;
	return WAIT_FOR_NOTHING;
}

/* Packages that wait on behalf of others. */
static bool is_means(const char *function)
{
	static const char *const packages[] = {"runtime.", "runtime/", "internal/",
					       "sync.",	   "sync/",    "golang.org/x/sync/"};

	for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
		if (!strncmp(function, packages[i], strlen(packages[i])))
			return true;
	return false;
}

const struct frame *standing_user(const struct standing *s)
{
	for (size_t i = 0; i < s->frame_count; i++)
		if (!is_means(s->frames[i]->function))
			return s->frames[i];
	return NULL;
}

/* Bytes of a name without what the compiler added to that of the function a closure is written in:
 * ".func1", ".gowrap2", ".deferwrap1", "-range1". */
static size_t written_in(const char *name)
{
	static const char *const marks[] = {".func", ".gowrap", ".deferwrap", "-range"};
	size_t size = strlen(name);

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const char *at = name;

		while ((at = strstr(at, marks[i]))) {
			const char *number = at + strlen(marks[i]);

			if (*number >= '0' && *number <= '9' && (size_t)(at - name) < size)
				size = (size_t)(at - name);
			at = number;
		}
	}
	return size;
}

static bool has_name(const void *owner, uint32_t handle, const void *key)
{
	const struct function *f = &((const struct wait_candidates *)owner)->functions[handle - 1];
	const struct function *wanted = key;

	return f->name_size == wanted->name_size &&
	       !memcmp(f->name, wanted->name, wanted->name_size);
}

static struct function *find(const struct wait_candidates *c, const char *name)
{
	struct function wanted = {.name = name, .name_size = written_in(name)};
	uint32_t handle = handle_index_find(&c->index, handle_hash(name, wanted.name_size),
					    has_name, c, &wanted);

	return handle ? &c->functions[handle - 1] : NULL;
}

static int add_function(struct wait_candidates *c, const char *name)
{
	struct function *f = &c->functions[c->function_count];

	if (find(c, name))
		return 0;
	*f = (struct function){.name = name, .name_size = written_in(name)};
	return handle_index_add(&c->index, handle_hash(name, f->name_size),
				(uint32_t)++c->function_count);
}

static bool is_same_place(const struct place *place, const struct frame *at, const char *reason)
{
	return place->at == at && !strcmp(place->reason, reason);
}

/* Each goroutine once, where it stands innermost. */
static int add_place(struct function *f, const struct frame *at, uint32_t index, const char *reason)
{
	struct place *place = NULL;

	if (f->last == index + 1)
		return 0;
	f->last = index + 1;
	for (size_t i = 0; i < f->place_count && !place; i++)
		if (is_same_place(&f->places[i], at, reason))
			place = &f->places[i];
	if (!place && f->place_count == PLACES_MAX)
		return 0;
	if (!place) {
		if (!f->places)
			f->places = calloc(PLACES_MAX, sizeof(*f->places));
		if (!f->places)
			return -ENOMEM;
		place = &f->places[f->place_count++];
		*place = (struct place){.at = at, .reason = reason};
	}
	if (place->count < sizeof(place->first) / sizeof(*place->first))
		place->first[place->count] = index;
	place->count++;
	return 0;
}

/* The functions that are used to wait. */
static int list_functions(struct wait_candidates *c, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		enum wait_for kind = wait_reason_kind(c->all[i].reason);
		const struct frame *user = kind ? standing_user(&c->all[i]) : NULL;

		if (!user)
			continue;
		error = add_function(c, user->function);
		if (!error && kind == WAIT_FOR_LOCK)
			error = add_place(&c->lock_waits, user, (uint32_t)i, c->all[i].reason);
	}
	return error;
}

int wait_candidates_open(const struct standing *all, size_t count, struct wait_candidates **out)
{
	struct wait_candidates *c = calloc(1, sizeof(*c));
	int error = 0;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	c->all = all;
	c->functions = calloc(count + 1, sizeof(*c->functions));
	error = c->functions ? list_functions(c, count) : -ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		for (size_t k = 0; k < all[i].frame_count && !error; k++) {
			struct function *f = find(c, all[i].frames[k]->function);

			if (f)
				error = add_place(f, all[i].frames[k], (uint32_t)i, all[i].reason);
		}
	}
	if (error)
		wait_candidates_close(c);
	else
		*out = c;
	return error;
}

void wait_candidates_close(struct wait_candidates *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->function_count; i++)
		free(c->functions[i].places);
	free(c->lock_waits.places);
	free(c->functions);
	handle_index_close(&c->index);
	free(c);
}

/* An answer under way. */
struct answer {
	uint32_t asked;
	size_t count, named;
	struct wait_candidate *found;
};

/* All that stand at one place; `own`: who asks is one of them, and does not count. */
static void take_place(struct answer *a, const struct place *place, bool own)
{
	size_t known = sizeof(place->first) / sizeof(*place->first);

	known = place->count < known ? place->count : known;
	for (size_t i = 0; i < known && a->named < WAIT_CANDIDATES_MAX; i++)
		if (place->first[i] != a->asked)
			a->found[a->named++] = (struct wait_candidate){place->first[i], place->at};
	a->count += place->count - own;
}

static void take_lock_order(const struct wait_candidates *c, const struct function *own,
			    const struct frame *user, const char *reason, struct answer *a)
{
	for (size_t i = 0; i < own->place_count; i++)
		if (is_same_place(&own->places[i], user, reason))
			take_place(a, &own->places[i], true);
	for (size_t i = 0; i < c->lock_waits.place_count; i++)
		if (find(c, c->lock_waits.places[i].at->function) != own)
			take_place(a, &c->lock_waits.places[i], false);
}

size_t wait_candidates_find(const struct wait_candidates *c, size_t index,
			    struct wait_candidate found[WAIT_CANDIDATES_MAX])
{
	const char *reason = c->all[index].reason;
	enum wait_for kind = wait_reason_kind(reason);
	const struct frame *user = kind ? standing_user(&c->all[index]) : NULL;
	const struct function *f = user ? find(c, user->function) : NULL;
	struct answer a = {.asked = (uint32_t)index, .found = found};

	for (size_t i = 0; f && i < f->place_count; i++)
		if (!is_same_place(&f->places[i], user, reason))
			take_place(&a, &f->places[i], false);
	if (f && !a.count && kind == WAIT_FOR_LOCK)
		take_lock_order(c, f, user, reason, &a);
	return a.count;
}
