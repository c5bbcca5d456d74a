/* SPDX-License-Identifier: Apache-2.0 */
/* A table by pid; every change of what is profiled passes through here. */
#include "agent/targets_private.h"

#include <errno.h>
#include <signal.h>
#include <spanprof/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/binary_store.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "agent/target_words.h"
#include "agent/waits.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "symbolize/symbolize.h"

#define TARGETS_MAX	 4096 /* as many as the kernel's table holds */
#define ATTEMPTS_MAX	 4
#define EXPLAIN_AFTER_NS 3500000000ull /* with a sweep to wait for: within 5 s of the start */

int targets_open(const struct targets_config *config, struct targets **out)
{
	struct targets *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return -ENOMEM;
	t->config = *config;
	t->opened_ns = clock_monotonic_ns();
	t->shared_probes = !config->options->pid_count;
	return 0;
}

static struct entry *find(struct targets *t, pid_t pid)
{
	struct entry *e;

	HASH_FIND_INT(t->entries, &pid, e);
	return e;
}

/* Lets go of the image: probes of this process, names, memory. The entry stays. */
static void release(struct targets *t, struct target *target)
{
	if (target->generation) {
		waits_remove(t->config.waits, target->generation);
		capture_forget_process(t->config.capture, target->pid, target->generation);
		symbolizer_forget(t->config.symbolizer, target->generation);
	}
	target_probes_detach(t, target);
	census_end(&target->census);
	if (target->generation && target->binary && !target->binary->profiled)
		gobinary_set_cache(target->binary->go, NULL);
	target->generation = 0;
	process_close(target->process);
	target->process = NULL;
	binary_store_put(t->config.store, target->binary);
	target->binary = NULL;
}

static void drop(struct targets *t, struct entry *e)
{
	if (e->prepared)
		capture_forget_process(t->config.capture, e->target.pid, e->prepared);
	release(t, &e->target);
	HASH_DEL(t->entries, e);
	free(e);
}

void targets_close(struct targets *t)
{
	struct entry *e, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->entries, e, next)
		drop(t, e);
	if (t->prepared)
		capture_detach(t->config.capture, t->prepared->start_probe);
	binary_store_put(t->config.store, t->prepared);
	free(t);
}

/* Asks the loader for the process's image, as it is from now on. */
static int request(struct targets *t, struct entry *e)
{
	e->request = ++t->last_request;
	e->put_off = false;
	return loader_request(t->config.loader, e->target.pid, e->request);
}

int targets_add(struct targets *t, pid_t pid, bool named)
{
	struct entry *e = find(t, pid);
	int error;

	if (e)
		return 0;
	if (HASH_COUNT(t->entries) >= TARGETS_MAX)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->target.pid = pid;
	e->target.named = named;
	e->target.start_probe = e->target.newproc_probe = -1;
	HASH_ADD_INT(t->entries, target.pid, e);
	error = request(t, e);
	if (error)
		drop(t, e);
	return error;
}

/*
 * In the middle of an exec a process has no executable for a moment, and reads of it fail: it is
 * asked for again, at last at the next sweep. The record of the exec, too, asks for it.
 */
static bool try_again(struct targets *t, struct entry *e, int error)
{
	bool passing = error == -ESRCH || error == -ENOENT || error == -ENXIO;
	bool gone = kill(e->target.pid, 0) && errno == ESRCH;

	if (!passing || gone || ++e->attempts > ATTEMPTS_MAX)
		return false;
	release(t, &e->target);
	e->put_off = e->attempts == ATTEMPTS_MAX;
	return e->put_off || !request(t, e);
}

/* Tells why a named process is not profiled, and drops it. */
static void refuse(struct targets *t, struct entry *e, const char *reason)
{
	struct target *target = &e->target;

	if (target->named && target->attached_ns) {
		log_info(t->config.log, "pid %d is profiled no more: %s", target->pid, reason);
	} else if (target->named) {
		log_error(t->config.log, "pid %d: %s", target->pid, reason);
		t->refused++;
	}
	capture_forget_process(t->config.capture, target->pid, 0);
	drop(t, e);
}

/* The entry whose image the loader has read; NULL when it is to stay unprofiled, for now or ever.
 */
static struct entry *take_entry(struct targets *t, const struct loaded *loaded)
{
	struct entry *e = find(t, loaded->pid);
	const char *reason;

	if (!e || e->target.generation || loaded->number != e->request)
		return NULL;
	reason = target_refusal(t->config.options, &e->target, loaded);
	if (!reason)
		return e;
	if (!try_again(t, e, loaded->error))
		refuse(t, e, reason);
	return NULL;
}

static void see_first_span(struct targets *t, struct target *target)
{
	target->spans_seen = true;
	/* Goroutines that were begun since, for that span, are found by its contexts. */
	if (!target_probes_have_go(t, target))
		target_take_census(t, target);
}

struct target *targets_adopt(struct targets *t, struct loaded *loaded)
{
	struct entry *e = take_entry(t, loaded);
	struct target *target;
	bool again;
	int error;

	if (!e) {
		process_close(loaded->process);
		binary_store_put(t->config.store, loaded->binary);
		return NULL;
	}
	target = &e->target;
	again = target->attached_ns;
	target->process = loaded->process;
	target->binary = loaded->binary;
	target->identity = loaded->identity;
	target->guard = (struct probe_guard){0};
	target->service = (struct target_service){.resource = loaded->resource};
	target->unseen_spans = 0;
	census_end(&target->census);
	target->window = 0; /* another resource than that of an image before */
	error = target_attach(t, e);
	if (error == -ESTALE) {
		release(t, target);
		error = request(t, e);
		if (!error)
			return NULL;
	}
	if (error) {
		loaded->error = error;
		if (!try_again(t, e, error))
			refuse(t, e, error == -ESRCH ? "no such process" : strerror(-error));
		return NULL;
	}
	e->attempts = 0;
	t->adopted++;
	if (e->first_span)
		see_first_span(t, target);
	target_announce(t->config.log, target, again);
	return target;
}

void targets_on_exec(struct targets *t, const struct process_record *record)
{
	struct entry *e = find(t, record->pid);
	int error;

	if (e) {
		if (e->prepared)
			capture_forget_process(t->config.capture, e->target.pid, e->prepared);
		release(t, &e->target);
		e->attempts = 0;
		error = request(t, e);
		if (error)
			drop(t, e);
	} else {
		error = targets_add(t, record->pid, false);
	}
	e = find(t, record->pid);
	if (e) {
		e->prepared = record->image_generation;
		e->first_span = false;
	}
	if (error)
		log_warn(t->config.log, "pid %d: not profiled: too many processes", record->pid);
}

void targets_on_exit(struct targets *t, const struct process_record *record)
{
	struct entry *e = find(t, record->pid);

	if (e)
		drop(t, e);
}

void targets_retry(struct targets *t)
{
	struct entry *e, *next;

	HASH_ITER (hh, t->entries, e, next)
		if (e->put_off && request(t, e))
			drop(t, e);
}

void targets_verify(struct targets *t)
{
	struct entry *e, *next;

	HASH_ITER (hh, t->entries, e, next) {
		struct process_record record = {.pid = e->target.pid};

		if (!e->target.generation)
			continue; /* the loader finds out */
		record.image_generation = capture_get_generation(t->config.capture, record.pid);
		if (!process_is_alive(e->target.process))
			targets_on_exit(t, &record);
		else if (record.image_generation != e->target.generation)
			targets_on_exec(t, &record);
	}
}

void targets_end(struct targets *t)
{
	for (struct entry *e = t->entries; e; e = e->hh.next) {
		if (!e->target.named || e->target.attached_ns)
			continue;
		log_error(t->config.log, "pid %d: its executable was not read before the end",
			  e->target.pid);
		t->refused++;
	}
}

struct target *targets_find(struct targets *t, pid_t pid, uint32_t generation)
{
	struct entry *e = find(t, pid);

	return e && (!generation || e->target.generation == generation) ? &e->target : NULL;
}

struct target *targets_find_generation(struct targets *t, uint32_t generation)
{
	for (struct entry *e = t->entries; e && generation; e = e->hh.next)
		if (e->target.generation == generation)
			return &e->target;
	return NULL;
}

void targets_on_first_span(struct targets *t, const struct process_record *record)
{
	struct entry *e = find(t, record->pid);

	if (e && e->target.generation == record->generation)
		see_first_span(t, &e->target);
	else if (e && e->prepared == record->generation)
		e->first_span = true;
}

void targets_explain(struct targets *t, uint64_t now_ns)
{
	const struct options *o = t->config.options;
	struct entry *e, *next;
	char wanted[TARGETS_WANTED_SIZE];

	if (!t->explained && !t->adopted && now_ns >= t->opened_ns + EXPLAIN_AFTER_NS) {
		t->explained = true;
		targets_describe_wanted(t, wanted, sizeof(wanted));
		log_info(t->config.log, "no %s yet: waiting for one", wanted);
	}
	HASH_ITER (hh, t->entries, e, next) {
		struct target *target = &e->target;
		bool has_sdk;

		if (!target->generation || e->explained || target->spans_seen)
			continue;
		has_sdk = gobinary_get_info(target->binary->go)->has_sdk;
		/* Of the many that were not named, those that could have spans. */
		if (!target->named && !o->verbose && !(has_sdk && options_is_local(o)))
			continue;
		if (now_ns < target->attached_ns + EXPLAIN_AFTER_NS && has_sdk)
			continue;
		e->explained = true;
		target_explain(t->config.log, t->config.options, target);
	}
}

void targets_describe_wanted(const struct targets *t, char *to, size_t size)
{
	const struct options *o = t->config.options;
	const char *kind = o->all ? "" : "Go ", *which = "";

	if (o->command) {
		snprintf(to, size, "%sprogram run by the command that lived long enough to be read",
			 kind);
		return;
	}
	if (o->exe_selector)
		which = " that matches --exe";
	else if (o->exe_glob_count || o->exclude_glob_count)
		which = " that --include and --exclude select";
	snprintf(to, size, "running %sprogram%s", kind, which);
}

size_t targets_count(const struct targets *t)
{
	return HASH_COUNT(t->entries);
}

size_t targets_adopted(const struct targets *t)
{
	return t->adopted;
}

size_t targets_refused(const struct targets *t)
{
	return t->refused;
}
