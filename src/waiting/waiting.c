/* SPDX-License-Identifier: Apache-2.0 */
/* What the user and the thread share. See waiting.h. */
#include "waiting/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "waiting/waiting_private.h"

#define HANGS_AFTER_NS 2000000000ull
#define CLOSE_NS       1000000000ull

void image_put(struct image *image)
{
	if (!--image->references)
		free(image);
}

void waiting_put(struct waiting *w)
{
	bool last = !--w->references;

	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	record_list_free(&w->records);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

void waiting_sleep(struct waiting *w, uint64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
				 .tv_nsec = (long)(until_ns % 1000000000)};

	pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

int waiting_open(const struct waiting_config *config, struct waiting **out)
{
	struct waiting *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	int error;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->config = *config;
	w->references = 1;
	record_list_open(&w->records);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_lock(&w->lock);
	error = worker_begin(w);
	if (error) {
		waiting_put(w);
		return error;
	}
	pthread_mutex_unlock(&w->lock);
	*out = w;
	return 0;
}

bool waiting_close(struct waiting *w)
{
	uint64_t limit_ns = clock_monotonic_ns() + CLOSE_NS;
	bool ended;

	if (!w)
		return true;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->changed);
	while (w->references > 1 && clock_monotonic_ns() < limit_ns)
		waiting_sleep(w, limit_ns);
	ended = w->references == 1;
	for (struct image *image = w->images, *next; image; image = next) {
		next = image->next;
		image_put(image);
	}
	w->images = NULL;
	waiting_put(w);
	return ended;
}

int waiting_add(struct waiting *w, uint32_t generation, pid_t pid, const struct gobinary_info *info,
		uint64_t bias)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return -ENOMEM;
	image->generation = generation;
	image->pid = pid;
	image->info = *info;
	image->bias = bias;
	image->references = 1;
	image->added_ns = clock_monotonic_ns();
	pthread_mutex_lock(&w->lock);
	image->next = w->images;
	w->images = image;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

void waiting_remove(struct waiting *w, uint32_t generation)
{
	pthread_mutex_lock(&w->lock);
	for (struct image **at = &w->images; *at;) {
		struct image *image = *at;

		if (image->generation != generation) {
			at = &image->next;
			continue;
		}
		*at = image->next;
		image_put(image);
	}
	pthread_mutex_unlock(&w->lock);
}

uint32_t waiting_watch(struct waiting *w, uint64_t now_ns)
{
	uint32_t hangs = 0;

	pthread_mutex_lock(&w->lock);
	/* Nothing ran, the thread neither: stopped by SIGSTOP or a frozen cgroup. */
	if (now_ns > w->watched_ns + HANGS_AFTER_NS / 2)
		w->looking_since_ns = now_ns;
	w->watched_ns = now_ns;
	if (w->looking_at && now_ns > w->looking_since_ns + HANGS_AFTER_NS) {
		hangs = w->looking_at;
		w->looking_at = 0;
		for (struct image *image = w->images; image; image = image->next)
			image->hangs |= image->generation == hangs;
		(void)worker_begin(w); /* else nobody looks any more */
	}
	pthread_mutex_unlock(&w->lock);
	return hangs;
}

struct waiting_record *waiting_take(struct waiting *w)
{
	struct waiting_record *first;

	pthread_mutex_lock(&w->lock);
	first = w->records.first;
	record_list_open(&w->records);
	pthread_mutex_unlock(&w->lock);
	return first;
}

bool waiting_flush(struct waiting *w, uint32_t generation, uint64_t patience_ns)
{
	uint64_t limit_ns = clock_monotonic_ns() + patience_ns;
	bool done;

	pthread_mutex_lock(&w->lock);
	w->flush = true;
	w->flush_of = generation;
	pthread_cond_broadcast(&w->changed);
	while (w->flush && clock_monotonic_ns() < limit_ns)
		waiting_sleep(w, limit_ns);
	done = !w->flush;
	pthread_mutex_unlock(&w->lock);
	return done;
}

void waiting_get_stats(struct waiting *w, struct waiting_stats *out)
{
	pthread_mutex_lock(&w->lock);
	*out = w->stats;
	pthread_mutex_unlock(&w->lock);
}
