/* SPDX-License-Identifier: Apache-2.0 */
/* A table by pid; every change of what is profiled passes through here. */
#include "agent/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <spanprof/record.h>
#include <spanprof/target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "agent/attach.h"
#include "agent/binary_store.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "agent/target_words.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "process/discovery.h"
#include "process/process.h"
#include "symbolize/symbolize.h"

#define TARGETS_MAX	 4096	       /* as many as the kernel's table holds */
#define EXPLAIN_AFTER_NS 3500000000ull /* with a sweep to wait for: within 5 s of the start */

struct entry {
	struct target target;
	uint64_t request; /* of the loader, the last: answers to others are of an older image */
	bool explained;
	UT_hash_handle hh; /* by target.pid */
};

struct targets {
	struct targets_config config;
	struct entry *entries;
	uint32_t next_generation;
	uint64_t last_request;
	size_t refused, adopted;
	uint64_t opened_ns;
	bool explained;		 /* that nothing was found */
	bool shared_probes;	 /* attached for all processes of a file, not for one */
	struct binary *prepared; /* the COMMAND's, probed before it runs */
};

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

static void detach(struct targets *t, int *start_probe, int *newproc_probe)
{
	capture_detach(t->config.capture, *start_probe);
	capture_detach(t->config.capture, *newproc_probe);
	*start_probe = *newproc_probe = -1;
}

/* Lets go of the image: probes of this process, names, memory. The entry stays. */
static void release(struct targets *t, struct target *target)
{
	if (target->generation) {
		capture_forget_process(t->config.capture, target->pid, target->generation);
		symbolizer_forget(t->config.symbolizer, target->generation);
	}
	detach(t, &target->start_probe, &target->newproc_probe);
	if (target->generation && target->binary && !--target->binary->profiled) {
		detach(t, &target->binary->start_probe, &target->binary->newproc_probe);
		gobinary_set_cache(target->binary->go, NULL);
	}
	target->generation = 0;
	process_close(target->process);
	target->process = NULL;
	binary_store_put(t->config.store, target->binary);
	target->binary = NULL;
}

static void drop(struct targets *t, struct entry *e)
{
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
		detach(t, &t->prepared->start_probe, &t->prepared->newproc_probe);
	binary_store_put(t->config.store, t->prepared);
	free(t);
}

/* Asks the loader for the process's image, as it is from now on. */
static int request(struct targets *t, struct entry *e)
{
	e->request = ++t->last_request;
	return loader_request(t->config.loader, e->target.pid, e->request);
}

int targets_add(struct targets *t, pid_t pid, bool named)
{
	struct entry *e = find(t, pid);

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
	return request(t, e);
}

/*
 * The executable, opened anew: -ESTALE when it is not the one that was read. Probes are attached
 * by this descriptor's name: an exec in between must not bring them into another program.
 */
static int open_executable(const struct target *target)
{
	int fd = process_open_executable(target->process);

	if (fd >= 0 && !binary_is_file(target->binary, fd)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static void attach_probes(struct targets *t, struct target *target, const char *link)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);
	int *probe = t->shared_probes ? &target->binary->start_probe : &target->start_probe;
	pid_t pid = t->shared_probes ? -1 : target->pid;
	char why[256];
	int error;

	if (!t->config.options->probes || !attach_has_start(info) || *probe >= 0)
		return;
	if (!target->named && discovery_is_system_daemon(process_get_executable(target->process)))
		return;
	error = attach_start(t->config.capture, info, pid, link, probe, why, sizeof(why));
	if (error)
		log_warn(t->config.log, "pid %d: spans are not followed: %s", target->pid, why);
}

static int attach(struct targets *t, struct target *target)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);
	struct target_process description;
	char link[64];
	int error, fd;

	error = process_get_load_bias(target->process, target->binary->first_segment_address,
				      &target->bias);
	if (error)
		return error;
	target->generation = ++t->next_generation;
	if (!target->binary->profiled++)
		gobinary_set_cache(target->binary->go, t->config.cache);
	target->attached_ns = clock_monotonic_ns();
	error = symbolizer_add_image(t->config.symbolizer, target->generation, target->process,
				     target->binary->go, target->bias);
	if (error)
		return error;
	attach_describe(info, target->bias, target->generation, &description);
	if (!t->config.options->probes)
		description.flags &= ~TARGET_SPANS;
	error = capture_set_process(t->config.capture, target->pid, &description);
	if (error)
		return error;
	/* An exec from here on is announced; one before shows by the file. */
	fd = open_executable(target);
	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	attach_probes(t, target, link);
	close(fd);
	return process_is_alive(target->process) ? 0 : -ESRCH;
}

struct target *targets_adopt(struct targets *t, struct loaded *loaded)
{
	struct entry *e = find(t, loaded->pid);
	const char *reason = e ? target_refusal(t->config.options, &e->target, loaded) : NULL;
	struct target *target = e ? &e->target : NULL;
	int error;

	if (!e || reason || target->generation || loaded->number != e->request) {
		process_close(loaded->process);
		binary_store_put(t->config.store, loaded->binary);
		if (!reason || loaded->number != e->request)
			return NULL;
		if (target->named) {
			log_error(t->config.log, "pid %d: %s", loaded->pid, reason);
			t->refused++;
		}
		capture_forget_process(t->config.capture, loaded->pid, 0);
		drop(t, e);
		return NULL;
	}
	target->process = loaded->process;
	target->binary = loaded->binary;
	target->identity = loaded->identity;
	target->window = 0; /* another resource than that of an image before */
	error = attach(t, target);
	if (error == -ESTALE) {
		release(t, target);
		error = request(t, e);
		if (!error)
			return NULL;
	}
	if (error) {
		if (target->named) {
			log_error(t->config.log, "pid %d: %s", target->pid,
				  error == -ESRCH ? "no such process" : strerror(-error));
			t->refused++;
		}
		drop(t, e);
		return NULL;
	}
	t->adopted++;
	target_announce(t->config.log, target);
	return target;
}

void targets_on_exec(struct targets *t, const struct process_record *record)
{
	struct entry *e = find(t, record->pid);
	int error;

	if (e) {
		release(t, &e->target);
		error = request(t, e);
	} else {
		error = targets_add(t, record->pid, false);
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

struct target *targets_find(struct targets *t, pid_t pid, uint32_t generation)
{
	struct entry *e = find(t, pid);

	return e && (!generation || e->target.generation == generation) ? &e->target : NULL;
}

static void attach_newproc_probe(struct targets *t, struct target *target)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);
	int *probe = t->shared_probes ? &target->binary->newproc_probe : &target->newproc_probe;
	char link[64], why[256] = "no such probe point in this Go version";
	int fd;

	target->spans_seen = true;
	if (*probe >= 0)
		return;
	fd = open_executable(target);
	if (fd < 0)
		return; /* its exec or exit is yet to be announced */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (attach_newproc(t->config.capture, info, t->shared_probes ? -1 : target->pid, link,
			   probe, why, sizeof(why)))
		log_warn(t->config.log,
			 "pid %d: goroutines do not inherit their creator's span: %s", target->pid,
			 why);
	close(fd);
}

void targets_on_first_span(struct targets *t, const struct process_record *record)
{
	struct target *target = targets_find(t, record->pid, record->generation);

	if (target && target->generation)
		attach_newproc_probe(t, target);
}

void targets_prepare(struct targets *t, const char *program)
{
	struct block_cache *cache = NULL;
	struct binary *binary;
	char link[64], why[256];
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || !t->config.options->probes)
		goto out;
	if (block_cache_open(1 << 20, &cache) ||
	    binary_store_get(t->config.store, fd, cache, &t->prepared) || !t->prepared->go)
		goto out;
	binary = t->prepared;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (attach_has_start(gobinary_get_info(binary->go)) && binary->start_probe < 0 &&
	    attach_start(t->config.capture, gobinary_get_info(binary->go), -1, link,
			 &binary->start_probe, why, sizeof(why)))
		log_warn(t->config.log, "%s: spans are not followed: %s", program, why);
out:
	block_cache_close(cache);
	if (fd >= 0)
		close(fd);
}

void targets_explain(struct targets *t, uint64_t now_ns)
{
	const struct options *o = t->config.options;
	struct entry *e, *next;

	if (!t->explained && !t->adopted && now_ns >= t->opened_ns + EXPLAIN_AFTER_NS) {
		t->explained = true;
		log_info(t->config.log, "no %s yet: waiting for one", targets_wanted(t));
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

const char *targets_wanted(const struct targets *t)
{
	const struct options *o = t->config.options;

	if (o->command)
		return "Go program run by the command that lived long enough to be read";
	if (o->exe_selector)
		return "running Go program that matches --exe";
	if (o->exe_glob_count || o->exclude_glob_count)
		return "running Go program that --include and --exclude select";
	return "running Go program";
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
