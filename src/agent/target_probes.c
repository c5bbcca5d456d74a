/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's probes are attached for all its processes or, with --pid and where one of them is to
 * have fewer than the others, for each by itself.
 */
#include "agent/targets_private.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/attach.h"
#include "agent/binary_store.h"
#include "agent/options.h"
#include "base/log.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/discovery.h"
#include "process/process.h"

/* The number of a probe, and for whom it is attached. */
struct place {
	int *probe;
	pid_t pid;
};

static bool is_shared(const struct targets *t, const struct target *target)
{
	return t->shared_probes && !target->binary->probed_apart;
}

static struct place start_place(const struct targets *t, struct target *target)
{
	return is_shared(t, target) ? (struct place){&target->binary->start_probe, -1}
				    : (struct place){&target->start_probe, target->pid};
}

static struct place go_place(const struct targets *t, struct target *target)
{
	return is_shared(t, target) ? (struct place){&target->binary->newproc_probe, -1}
				    : (struct place){&target->newproc_probe, target->pid};
}

static void detach(struct targets *t, int *probe)
{
	capture_detach(t->config.capture, *probe);
	*probe = -1;
}

/*
 * The executable, opened anew, as a path in `link`; the descriptor is to be closed. -ESTALE when it
 * is not the one that was read: an exec in between must not bring probes into another program.
 */
static int open_executable(const struct target *target, char *link, size_t size)
{
	int fd = process_open_executable(target->process);

	if (fd >= 0 && !binary_is_file(target->binary, fd)) {
		close(fd);
		return -ESTALE;
	}
	snprintf(link, size, "/proc/self/fd/%d", fd);
	return fd;
}

static bool is_probed(const struct targets *t, const struct target *target)
{
	return t->config.options->probes &&
	       attach_has_start(gobinary_get_info(target->binary->go)) &&
	       (target->named ||
		!discovery_is_system_daemon(process_get_executable(target->process)));
}

int target_probes_attach(struct targets *t, struct target *target)
{
	struct attach_choice choice = {
		.skip = target->binary->starts_skipped,
		.recorded_only = target->guard.level != PROBES_ALL,
	};
	struct place place = start_place(t, target);
	char link[64], why[256];
	int fd, error;

	if (!is_probed(t, target) || *place.probe >= 0 || target->guard.level == PROBES_NONE)
		return 0;
	fd = open_executable(target, link, sizeof(link));
	if (fd < 0)
		return fd;
	error = attach_start(t->config.capture, gobinary_get_info(target->binary->go), &choice,
			     place.pid, link, place.probe, why, sizeof(why));
	close(fd);
	if (error == -ESRCH)
		return error;
	if (error && error != -ENOENT)
		log_warn(t->config.log, "pid %d: spans are not followed: %s", target->pid, why);
	return 0;
}

void target_probes_attach_go(struct targets *t, struct target *target)
{
	struct place place = go_place(t, target);
	char link[64], why[256] = "no such probe point in this Go version";
	int fd;

	if (!is_probed(t, target) || *place.probe >= 0 || target->guard.level >= PROBES_NO_GO)
		return;
	fd = open_executable(target, link, sizeof(link));
	if (fd < 0)
		return; /* its exec or exit is yet to be announced */
	if (attach_newproc(t->config.capture, gobinary_get_info(target->binary->go), place.pid,
			   link, place.probe, why, sizeof(why)))
		log_warn(t->config.log,
			 "pid %d: goroutines do not inherit their creator's span: %s", target->pid,
			 why);
	close(fd);
}

bool target_probes_have_start(const struct targets *t, struct target *target)
{
	return *start_place(t, target).probe >= 0;
}

bool target_probes_want_go(const struct targets *t, const struct target *target)
{
	return target->spans_seen || options_is_local(t->config.options);
}

bool target_probes_have_go(const struct targets *t, struct target *target)
{
	return *go_place(t, target).probe >= 0;
}

void target_probes_detach_go(struct targets *t, struct target *target)
{
	detach(t, go_place(t, target).probe);
}

void target_probes_detach(struct targets *t, struct target *target)
{
	detach(t, &target->start_probe);
	detach(t, &target->newproc_probe);
	if (!target->generation || !target->binary || --target->binary->profiled)
		return;
	detach(t, &target->binary->start_probe);
	detach(t, &target->binary->newproc_probe);
	target->binary->probed_apart = false;
}

/* From here on each process of the file has probes of its own. */
static void part(struct targets *t, struct binary *binary)
{
	if (!t->shared_probes || binary->probed_apart)
		return;
	binary->probed_apart = true;
	for (struct entry *e = t->entries; e; e = e->hh.next) {
		if (!e->target.generation || e->target.binary != binary)
			continue;
		(void)target_probes_attach(t, &e->target);
		if (target_probes_want_go(t, &e->target))
			target_probes_attach_go(t, &e->target);
	}
	detach(t, &binary->start_probe);
	detach(t, &binary->newproc_probe);
}

void target_probes_renew(struct targets *t, struct target *target, bool all_of_file)
{
	if (!all_of_file)
		part(t, target->binary);
	detach(t, start_place(t, target).probe);
	(void)target_probes_attach(t, target);
	if (target->guard.level >= PROBES_NO_GO)
		target_probes_detach_go(t, target);
	else if (target_probes_want_go(t, target))
		target_probes_attach_go(t, target);
}
