/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, a bounded queue in and a bounded queue out. */
#include "agent/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/binary_store.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "process/process.h"

#define QUEUE_MAX   4096
#define RESULTS_MAX 64 /* the thread waits when nobody takes them */
#define CACHE_BYTES (2 << 20)

struct request {
	pid_t pid;
	uint64_t number;
	struct service_query *service; /* NULL: for an executable */
};

struct loader {
	struct binary_store *store;
	struct block_cache *cache;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	bool started, stop, ended;
	struct request requests[QUEUE_MAX];
	size_t request_first, request_count;
	struct loaded results[RESULTS_MAX];
	size_t result_first, result_count;
	pthread_cond_t taken, has_ended;
	int ready_fd;
};

/* As its traces name it, where it has set a provider for all already. */
static void read_service(struct loaded *out)
{
	const struct go_resource_layout *at = &gobinary_get_info(out->binary->go)->resource;
	struct identity service;
	uint64_t bias;

	if (!at->global_count ||
	    process_get_load_bias(out->process, out->binary->first_segment_address, &bias) ||
	    span_resource_find(out->process, at, bias, 0, &out->resource) ||
	    span_resource_read(out->process, at, &out->resource, &service))
		out->resource = (struct span_resource){0};
	else
		identity_set_service(&out->identity, &service);
}

void loader_load(struct binary_store *store, struct block_cache *cache, pid_t pid,
		 struct loaded *out)
{
	int fd;

	memset(out, 0, sizeof(*out));
	out->pid = pid;
	out->error = process_open(pid, &out->process);
	if (out->error)
		return;
	fd = process_open_executable(out->process);
	if (fd == -ESRCH && process_is_alive(out->process))
		fd = -ENXIO;
	out->error = fd < 0 ? fd : binary_store_get(store, fd, cache, &out->binary);
	if (fd >= 0)
		close(fd);
	if (!out->error)
		out->error = process_read_mappings(out->process);
	if (!out->error)
		out->error = identity_read(
			out->process, out->binary->go ? gobinary_get_info(out->binary->go) : NULL,
			&out->identity);
	if (!out->error)
		read_service(out);
}

static void load_service(const struct request *request, struct loaded *out)
{
	const struct service_query *q = request->service;
	struct process *p = NULL;

	memset(out, 0, sizeof(*out));
	out->pid = request->pid;
	out->is_service = true;
	out->error = process_open(request->pid, &p);
	if (!out->error)
		out->error = span_resource_find(p, &q->layout, q->bias, q->span, &out->resource);
	if (!out->error && memcmp(&out->resource, &q->known, sizeof(q->known)))
		out->error = span_resource_read(p, &q->layout, &out->resource, &out->identity);
	process_close(p);
}

static void discard(struct loader *l, struct loaded *r)
{
	process_close(r->process);
	binary_store_put(l->store, r->binary);
}

/* False: stopped meanwhile, the result is still the caller's. */
static bool deliver(struct loader *l, const struct loaded *result)
{
	uint64_t one = 1;
	ssize_t written;

	while (l->result_count == RESULTS_MAX && !l->stop)
		pthread_cond_wait(&l->taken, &l->lock);
	if (l->stop)
		return false;
	l->results[(l->result_first + l->result_count++) % RESULTS_MAX] = *result;
	written = write(l->ready_fd, &one, sizeof(one));
	(void)written; /* a full counter is as good an announcement */
	return true;
}

static void *run(void *argument)
{
	struct loader *l = argument;
	struct loaded result;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		struct request request;

		if (!l->request_count) {
			pthread_cond_wait(&l->wanted, &l->lock);
			continue;
		}
		request = l->requests[l->request_first];
		l->request_first = (l->request_first + 1) % QUEUE_MAX;
		l->request_count--;
		pthread_mutex_unlock(&l->lock);
		if (request.service)
			load_service(&request, &result);
		else
			loader_load(l->store, l->cache, request.pid, &result);
		free(request.service);
		result.number = request.number;
		pthread_mutex_lock(&l->lock);
		if (!deliver(l, &result))
			discard(l, &result);
	}
	l->ended = true;
	pthread_cond_signal(&l->has_ended);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

int loader_open(struct binary_store *store, struct loader **out)
{
	struct loader *l = calloc(1, sizeof(*l));
	int error;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	l->store = store;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->wanted, NULL);
	pthread_cond_init(&l->taken, NULL);
	pthread_cond_init(&l->has_ended, NULL);
	l->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = l->ready_fd < 0 ? -errno : block_cache_open(CACHE_BYTES, &l->cache);
	if (!error)
		error = -pthread_create(&l->thread, NULL, run, l);
	l->started = !error;
	if (error)
		loader_close(l);
	else
		*out = l;
	return error;
}

/* False: the thread hangs in a read of a foreign file; what it uses is left to the exit. */
static bool stop_thread(struct loader *l)
{
	struct timespec limit;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec++;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->wanted);
	pthread_cond_broadcast(&l->taken);
	while (!l->ended &&
	       !pthread_cond_clockwait(&l->has_ended, &l->lock, CLOCK_MONOTONIC, &limit))
		continue;
	ended = l->ended;
	pthread_mutex_unlock(&l->lock);
	if (ended)
		pthread_join(l->thread, NULL);
	return ended;
}

bool loader_close(struct loader *l)
{
	struct loaded result;

	if (!l)
		return true;
	if (l->started && !stop_thread(l))
		return false;
	while (loader_take(l, &result))
		discard(l, &result);
	for (size_t i = 0; i < l->request_count; i++)
		free(l->requests[(l->request_first + i) % QUEUE_MAX].service);
	if (l->ready_fd >= 0)
		close(l->ready_fd);
	block_cache_close(l->cache);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->wanted);
	pthread_cond_destroy(&l->taken);
	pthread_cond_destroy(&l->has_ended);
	free(l);
	return true;
}

static int add_request(struct loader *l, const struct request *request)
{
	int error = -ENOSPC;

	pthread_mutex_lock(&l->lock);
	if (l->request_count < QUEUE_MAX) {
		l->requests[(l->request_first + l->request_count++) % QUEUE_MAX] = *request;
		pthread_cond_signal(&l->wanted);
		error = 0;
	}
	pthread_mutex_unlock(&l->lock);
	return error;
}

int loader_request(struct loader *l, pid_t pid, uint64_t number)
{
	return add_request(l, &(struct request){.pid = pid, .number = number});
}

int loader_request_service(struct loader *l, pid_t pid, uint64_t number,
			   const struct service_query *query)
{
	struct request request = {pid, number, malloc(sizeof(*query))};
	int error = -ENOMEM;

	if (request.service) {
		*request.service = *query;
		error = add_request(l, &request);
	}
	if (error)
		free(request.service);
	return error;
}

int loader_get_fd(const struct loader *l)
{
	return l->ready_fd;
}

bool loader_take(struct loader *l, struct loaded *out)
{
	uint64_t count;
	bool found = false;

	pthread_mutex_lock(&l->lock);
	if (l->result_count) {
		*out = l->results[l->result_first];
		l->result_first = (l->result_first + 1) % RESULTS_MAX;
		l->result_count--;
		pthread_cond_signal(&l->taken);
		found = true;
	} else if (read(l->ready_fd, &count, sizeof(count)) < 0) {
		found = false; /* nothing was announced either */
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}
