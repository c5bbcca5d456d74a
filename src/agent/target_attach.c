/* SPDX-License-Identifier: Apache-2.0 */
/* From an executable that was read to probes in it, if it still runs. */
#include "agent/targets_private.h"

#include <errno.h>
#include <fcntl.h>
#include <spanprof/target.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/attach.h"
#include "agent/binary_store.h"
#include "agent/census.h"
#include "agent/options.h"
#include "agent/waits.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "symbolize/symbolize.h"

#define CENSUS_NS	  300000000ull
#define CENSUS_GOES_ON_NS 20000000ull /* at each tick of the loop */
#define CENSUS_ROUNDS	  20	      /* a tick apart, for those that ran */

static void go_on_with_census(struct targets *t, struct target *target, uint64_t budget_ns)
{
	struct census *census = &target->census;
	int error = census_look(t->config.capture, target, census, budget_ns);

	if (census->tagged)
		target->spans_seen = true;
	target_see_span(target, census->span);
	if (error)
		log_debug(t->config.log, "pid %d: the search for older spans ended early: %s",
			  target->pid, strerror(-error));
	else if (census->left || (census->running && target->census_rounds))
		return;
	log_debug(t->config.log,
		  "pid %d: of %zu goroutines %zu have spans older than the attach, %zu of them "
		  "without room in the store; %zu ran each time, %zu were not looked at",
		  target->pid, census->goroutines, census->tagged + census->unstored,
		  census->unstored, census->running, census->left);
	census_end(census);
}

/*
 * Spans older than the probes; without them samples still find what stands on the stack. The `go`
 * probe is there before: whose creator has such a span inherits it.
 */
void target_take_census(struct targets *t, struct target *target)
{
	bool had_probe = target_probes_have_go(t, target);
	int error;

	target->probed_wall_ns = clock_wall_ns();
	target_probes_attach_go(t, target);
	census_end(&target->census);
	target->census_rounds = CENSUS_ROUNDS;
	error = census_begin(target, &target->census);
	if (error)
		log_debug(t->config.log,
			  "pid %d: spans older than the attach are not looked for: %s", target->pid,
			  strerror(-error));
	else
		go_on_with_census(t, target, CENSUS_NS);
	if (!target->census.tagged && !had_probe && !target_probes_want_go(t, target))
		target_probes_detach_go(t, target);
}

void targets_complete_census(struct targets *t)
{
	for (struct entry *e = t->entries; e; e = e->hh.next) {
		struct target *target = &e->target;
		bool seen = target->spans_seen;

		if (!target->generation || !target->census.list)
			continue;
		if (!target->census.left)
			target->census_rounds--;
		go_on_with_census(t, target, CENSUS_GOES_ON_NS);
		if (target->spans_seen && !seen)
			target_probes_attach_go(t, target);
	}
}

int target_attach(struct targets *t, struct entry *e)
{
	struct target *target = &e->target;
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);
	struct target_process description;
	bool prepared;
	int error;

	error = process_get_load_bias(target->process, target->binary->first_segment_address,
				      &target->bias);
	if (error)
		return error;
	prepared = e->prepared;
	target->generation = prepared ? e->prepared : ++t->next_generation;
	e->prepared = 0;
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
	if (e->first_span)
		description.flags |= TARGET_SPANS_SEEN;
	error = capture_set_process(t->config.capture, target->pid, &description);
	if (error)
		return error;
	/* An exec from here on is announced; one before shows by the file. */
	error = target_probes_attach(t, target);
	target->probed_wall_ns = clock_wall_ns();
	/* An image that was prepared has had its probes from its first instruction on. */
	if (!error && description.flags & TARGET_SPANS && !prepared)
		target_take_census(t, target);
	if (!error)
		waits_add(t->config.waits, target, description.flags & TARGET_SPANS);
	return error || process_is_alive(target->process) ? error : -ESRCH;
}

/* So that the first spans of the COMMAND are seen: its image is known before it runs. */
static void prepare_image(struct targets *t, int fd)
{
	const struct gobinary_info *info = gobinary_get_info(t->prepared->go);
	struct target_process description;
	struct target_image image = {0};
	struct stat status;

	if (fstat(fd, &status))
		return;
	image.inode = status.st_ino;
	image.device = major(status.st_dev) << 20 | minor(status.st_dev);
	attach_describe(info, 0, ++t->next_generation, &description);
	if (info->pie)
		attach_forget_addresses(&description);
	capture_prepare_image(t->config.capture, &image, &description);
}

/* Before the first instruction, so that the first goroutines inherit the first span, too. */
static void prepare_probes(struct targets *t, struct binary *binary, const char *program,
			   const char *link)
{
	const struct gobinary_info *info = gobinary_get_info(binary->go);
	const struct attach_choice best = {0};
	char why[256];

	if (!attach_has_start(info) || binary->start_probe >= 0)
		return;
	if (attach_start(t->config.capture, info, &best, -1, link, &binary->start_probe, why,
			 sizeof(why)))
		log_warn(t->config.log, "%s: spans are not followed: %s", program, why);
	else
		(void)attach_newproc(t->config.capture, info, -1, link, &binary->newproc_probe, why,
				     sizeof(why)); /* tried again, and told, at the attach */
}

void targets_prepare(struct targets *t, const char *program)
{
	struct block_cache *cache = NULL;
	struct binary *binary;
	char link[64];
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || !t->config.options->probes)
		goto out;
	if (block_cache_open(1 << 20, &cache) ||
	    binary_store_get(t->config.store, fd, cache, &t->prepared) || !t->prepared->go)
		goto out;
	binary = t->prepared;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	prepare_image(t, fd);
	prepare_probes(t, binary, program, link);
out:
	block_cache_close(cache);
	if (fd >= 0)
		close(fd);
}
