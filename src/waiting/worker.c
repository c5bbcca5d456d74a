/* SPDX-License-Identifier: Apache-2.0 */
/* The thread: looks at all images, hands over, and sleeps as long as its budget wants. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "waiting/looks.h"
#include "waiting/waiting_private.h"
#include "waiting/watched.h"

#define LONGEST_NS  1000000000ull /* between looks; where that is too often, fewer take part */
#define FEWER	    0.7		  /* of the budget that more must keep to take part again */
#define LATE_PASSES 16		  /* that the frequency of late is taken from */

/* What one thread has of an image. */
struct own_image {
	struct image *image;
	struct watched *watched; /* NULL: it could not be opened */
	bool kept;
	struct own_image *next;
};

struct worker {
	struct waiting *w;
	unsigned number;
	struct own_image *own;
	struct wanted_list list;
	struct looks *looks;
	uint64_t version;
	bool has_list;
	struct record_list records;
	struct waiting_stats stats; /* of the pass */
	unsigned share;
	uint64_t interval_ns;
	uint64_t passed_ns; /* monotonic, the last pass; 0 none */
	uint64_t fill_ns;   /* CPU of filling the list, since the last pace */
};

static bool counts(const struct worker *k)
{
	return !k->w->stop && k->number == k->w->worker;
}

/* Opens what was added and lets go of what was removed. Called with the lock. */
static void sync_images(struct worker *k)
{
	for (struct own_image *own = k->own; own; own = own->next)
		own->kept = false;
	for (struct image *image = k->w->images; image; image = image->next) {
		struct own_image *own = k->own;

		if (image->hangs)
			continue;
		while (own && own->image != image)
			own = own->next;
		if (!own) {
			own = calloc(1, sizeof(*own));
			if (!own)
				continue;
			own->image = image;
			image->references++;
			own->next = k->own;
			k->own = own;
		}
		own->kept = true;
	}
}

static void drop(struct worker *k, struct own_image **at)
{
	struct own_image *own = *at;

	*at = own->next;
	if (own->watched)
		watched_flush(own->watched, &k->records);
	watched_close(own->watched);
	pthread_mutex_lock(&k->w->lock);
	image_put(own->image);
	pthread_mutex_unlock(&k->w->lock);
	free(own);
}

/* False: the thread was left behind. */
static bool announce_look(struct worker *k, uint32_t generation)
{
	bool goes_on;

	pthread_mutex_lock(&k->w->lock);
	goes_on = counts(k);
	if (goes_on) {
		k->w->looking_at = generation;
		k->w->looking_since_ns = clock_monotonic_ns();
	}
	pthread_mutex_unlock(&k->w->lock);
	return goes_on;
}

static void look_at(struct worker *k, struct own_image *own)
{
	const struct watched_pass pass = {&k->list, k->looks, k->share, &k->records, &k->stats};
	const struct image *image = own->image;
	const struct wanted *entries;
	bool outside = k->w->config.outside;
	uint64_t since_ns = image->added_ns > k->passed_ns ? image->added_ns : k->passed_ns;

	/* Most processes of a host never have a span. */
	if (!own->watched && !outside && !wanted_list_find(&k->list, image->generation, &entries))
		return;
	if (!own->watched && watched_open(image->generation, image->pid, &image->info, image->bias,
					  outside, since_ns, &own->watched))
		return;
	(void)watched_look(own->watched, &pass);
}

/* Asks who works for spans, when that may be another answer than before. */
static void refill(struct worker *k)
{
	const struct waiting_source *source = &k->w->config.source;
	uint64_t version = source->get_version(source->context), cpu_ns = clock_thread_cpu_ns();

	if (!k->has_list || version != k->version)
		k->has_list = !wanted_list_fill(&k->list, source);
	k->version = version;
	k->fill_ns += clock_thread_cpu_ns() - cpu_ns;
}

static void pass(struct worker *k)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct own_image **at = &k->own; *at;) {
		if (!(*at)->kept) {
			drop(k, at);
			continue;
		}
		if (!announce_look(k, (*at)->image->generation))
			return;
		look_at(k, *at);
		at = &(*at)->next;
	}
	announce_look(k, 0);
	k->passed_ns = now_ns;
	k->stats.passes++;
}

/* Between a half and three halves, so that looks do not come in step with what they look at. */
static uint64_t jitter(uint64_t ns)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint32_t)clock_monotonic_ns();
	return ns / 2 + (uint64_t)((double)ns * random / UINT32_MAX);
}

/* Passes until all goroutines have had their turn. */
static unsigned count_turns(const struct worker *k)
{
	unsigned turns = 1;

	for (const struct own_image *own = k->own; own; own = own->next)
		if (own->watched && watched_turns(own->watched) > turns)
			turns = watched_turns(own->watched);
	return turns;
}

/*
 * In so many parts the goroutines are looked at that a pass a second is within the budget. To ask
 * who works for spans costs the same for any of them: at least a quarter is for the looks.
 */
static unsigned share_of(const struct worker *k, double all_ns)
{
	double budget_ns = (double)LONGEST_NS * k->w->config.cpu_share;
	double room_ns = budget_ns - (double)k->fill_ns;
	unsigned share = k->share;

	if (room_ns < budget_ns / 4)
		room_ns = budget_ns / 4;
	while (share < WATCHED_SHARE_MAX && all_ns / share > room_ns)
		share *= 2;
	while (share > 1 && all_ns / (share / 2) < FEWER * room_ns)
		share /= 2;
	return share;
}

/* As often as wanted, and as the share of a CPU allows. */
static void pace(struct worker *k, uint64_t cost_ns)
{
	const struct waiting_config *c = &k->w->config;
	uint64_t wanted_ns = (uint64_t)(1e9 / c->frequency_hz);
	uint64_t looks_ns = cost_ns > k->fill_ns ? cost_ns - k->fill_ns : 0, allowed_ns;
	double all_ns = (double)looks_ns * count_turns(k);

	/* Without a look nothing is known of what looks cost. */
	if (k->stats.looks)
		k->share = share_of(k, all_ns);
	/* What the next pass will cost: this one may have looked at more. */
	all_ns = all_ns / k->share < (double)looks_ns ? all_ns / k->share : (double)looks_ns;
	allowed_ns = (uint64_t)(((double)k->fill_ns + all_ns) / c->cpu_share);
	k->fill_ns = 0;
	k->interval_ns = allowed_ns > wanted_ns ? allowed_ns : wanted_ns;
}

static void add_stats(struct worker *k)
{
	struct waiting_stats *to = &k->w->stats;
	const struct waiting_stats *from = &k->stats;
	double hz = 1e9 / (double)k->interval_ns;

	to->passes += from->passes;
	to->looks += from->looks;
	to->cpu_ns += from->cpu_ns;
	to->moved += from->moved;
	to->unreadable += from->unreadable;
	to->unsampled += from->unsampled;
	to->share = count_turns(k);
	to->frequency_hz += (hz - to->frequency_hz) / LATE_PASSES;
	k->stats = (struct waiting_stats){0};
}

/* With the lock. At a flush all finds room: the memory has been taken before. */
static void hand_over(struct worker *k, bool flush)
{
	struct waiting *w = k->w;
	struct waiting_record *r, *next;

	for (r = k->records.first; r; r = next) {
		next = r->next;
		if (flush ||
		    w->records.bytes + waiting_record_bytes(r) <= w->config.records_bytes) {
			record_list_add(&w->records, r);
			continue;
		}
		w->stats.lost_ns += r->duration_ns;
		free(r);
	}
	record_list_open(&k->records);
	add_stats(k);
}

/* So that at the end nobody lacks the time since a turn that is long ago. */
static void give_all_their_turns(struct worker *k)
{
	unsigned turns;

	pass(k); /* which settles how many there are */
	for (turns = count_turns(k); turns > 1; turns--)
		pass(k);
	for (struct own_image *own = k->own; own; own = own->next)
		if (own->watched)
			watched_flush(own->watched, &k->records);
}

/* Those below are called with the lock. */

static void end_flush(struct worker *k)
{
	k->w->flush = false;
	pthread_cond_broadcast(&k->w->changed);
}

static void flush_one(struct worker *k)
{
	for (struct own_image *own = k->own; own; own = own->next)
		if (own->image->generation == k->w->flush_of && own->watched)
			watched_flush(own->watched, &k->records);
	hand_over(k, true);
	end_flush(k);
}

/* A pass, or more for a flush of all; when the next one is due. */
static uint64_t look_around(struct worker *k)
{
	uint64_t began_ns = clock_monotonic_ns(), cpu_ns = clock_thread_cpu_ns();
	struct waiting *w = k->w;
	bool flush = w->flush;

	sync_images(k);
	k->records.bytes_wanted = w->config.records_bytes > w->records.bytes
					  ? w->config.records_bytes - w->records.bytes
					  : 0;
	pthread_mutex_unlock(&w->lock);
	refill(k);
	if (flush)
		give_all_their_turns(k);
	else
		pass(k);
	k->stats.cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	pace(k, k->stats.cpu_ns);
	began_ns += jitter(k->interval_ns);
	pthread_mutex_lock(&w->lock);
	if (k->number != w->worker)
		return began_ns;
	hand_over(k, flush);
	if (flush)
		end_flush(k);
	return began_ns;
}

static void *work(void *argument)
{
	struct worker *k = argument;
	struct waiting *w = k->w;
	uint64_t next_ns = 0;

	pthread_mutex_lock(&w->lock);
	while (counts(k)) {
		if (w->flush && w->flush_of)
			flush_one(k);
		else if (w->flush || clock_monotonic_ns() >= next_ns)
			next_ns = look_around(k);
		else
			waiting_sleep(w, next_ns);
	}
	pthread_mutex_unlock(&w->lock);
	while (k->own)
		drop(k, &k->own);
	record_list_free(&k->records);
	wanted_list_close(&k->list);
	free(k->looks);
	free(k);
	pthread_mutex_lock(&w->lock);
	pthread_cond_broadcast(&w->changed);
	waiting_put(w);
	return NULL;
}

int worker_begin(struct waiting *w)
{
	struct worker *k = calloc(1, sizeof(*k));
	pthread_t thread;
	int error;

	if (k)
		k->looks = calloc(1, sizeof(*k->looks));
	if (!k || !k->looks) {
		free(k);
		return -ENOMEM;
	}
	k->w = w;
	k->number = ++w->worker;
	k->share = WATCHED_SHARE_MAX; /* until it is known what looks cost */
	record_list_open(&k->records);
	error = -pthread_create(&thread, NULL, work, k);
	if (error) {
		free(k->looks);
		free(k);
		return error;
	}
	pthread_setname_np(thread, "spanprof-waits");
	pthread_detach(thread);
	w->references++;
	return 0;
}
