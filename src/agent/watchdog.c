/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that looks twice a second; blocked reads of that kind end with the process. */
#include "agent/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/ending_signals.h"
#include "base/clock.h"
#include "base/log.h"

#define LOOK_NS	    500000000l
#define PATIENCE_NS 5000000000ull
#define RUNS_MAX_NS 60000000000ull /* patience with one that runs, or waits for a CPU */

struct watchdog {
	const struct log *log;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stopping;
	bool stop;
	_Atomic uint64_t fed_ns, end_ns;
	_Atomic bool finishing;
	pid_t loop;	 /* its thread */
	uint64_t ran_ns; /* when it was last seen to run, or to wait for a CPU */
};

static bool signal_waits(void)
{
	sigset_t ending, pending, both;

	ending_signals_get(&ending);
	return !sigpending(&pending) && !sigandset(&both, &pending, &ending) &&
	       !sigisemptyset(&both);
}

static bool told_to_end(const struct watchdog *w, uint64_t now_ns)
{
	uint64_t end_ns = atomic_load(&w->end_ns);

	return (end_ns && now_ns > end_ns + PATIENCE_NS) || signal_waits();
}

/* One that came with the first is the same: timeout(1) sends two. */
static void forget_signals(void)
{
	struct timespec none = {0};
	sigset_t signals;

	ending_signals_get(&signals);
	while (sigtimedwait(&signals, NULL, &none) > 0)
		continue;
}

/* Who hangs in a read sleeps. */
static bool loop_runs(const struct watchdog *w)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)w->loop);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'R';
}

static void look(struct watchdog *w, uint64_t now_ns)
{
	uint64_t fed_ns = atomic_load(&w->fed_ns);

	if (now_ns < fed_ns + PATIENCE_NS || !told_to_end(w, now_ns))
		return;
	if (loop_runs(w))
		w->ran_ns = now_ns;
	if (now_ns < w->ran_ns + PATIENCE_NS && now_ns < fed_ns + RUNS_MAX_NS)
		return;
	log_error(w->log,
		  now_ns < w->ran_ns + PATIENCE_NS
			  ? "too busy, or without a CPU, for a minute: ended without a report"
			  : "a read of a profiled process's memory or file does not return: "
			    "ended without a report");
	_exit(EXIT_FAILED);
}

static void look_while_finishing(struct watchdog *w)
{
	if (!signal_waits())
		return;
	log_error(w->log, "interrupted before all was written and delivered");
	_exit(EXIT_FAILED);
}

static void *run(void *argument)
{
	uint64_t now_ns, looked_ns = clock_monotonic_ns();
	struct watchdog *w = argument;
	bool finishing = false;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000l;
		until.tv_nsec %= 1000000000l;
		pthread_cond_timedwait(&w->stopping, &w->lock, &until);
		now_ns = clock_monotonic_ns();
		/* Nothing ran, this thread neither: stopped by SIGSTOP or a frozen cgroup. */
		if (now_ns > looked_ns + PATIENCE_NS / 2)
			atomic_store(&w->fed_ns, now_ns);
		looked_ns = now_ns;
		if (w->stop)
			break;
		if (finishing)
			look_while_finishing(w);
		else if (atomic_load(&w->finishing))
			forget_signals();
		else
			look(w, now_ns);
		finishing = atomic_load(&w->finishing);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int watchdog_open(const struct log *log, struct watchdog **out)
{
	struct watchdog *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	int error;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->log = log;
	w->loop = gettid();
	atomic_store(&w->fed_ns, clock_monotonic_ns());
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->stopping, &monotonic);
	pthread_condattr_destroy(&monotonic);
	error = -pthread_create(&w->thread, NULL, run, w);
	if (error)
		free(w);
	else
		*out = w;
	return error;
}

void watchdog_close(struct watchdog *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->stopping);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->stopping);
	free(w);
}

void watchdog_feed(struct watchdog *w, uint64_t end_ns)
{
	atomic_store(&w->end_ns, end_ns);
	atomic_store(&w->fed_ns, clock_monotonic_ns());
}

void watchdog_finish(struct watchdog *w)
{
	atomic_store(&w->finishing, true);
}
