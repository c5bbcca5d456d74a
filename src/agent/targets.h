/* SPDX-License-Identifier: Apache-2.0 */
/* The profiled processes: which they are, what was attached to them, when they end. */
#ifndef AGENT_TARGETS_H
#define AGENT_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/census.h"
#include "agent/probe_level.h"
#include "process/identity.h"
#include "process/span_resource.h"

#define TARGETS_WANTED_SIZE 96

struct binary;
struct binary_store;
struct block_cache;
struct capture;
struct loaded;
struct loader;
struct log;
struct options;
struct process;
struct process_record;
struct symbolizer;
struct targets;
struct waits;

/* Whether what a target says of itself in its traces is known. */
struct target_service {
	uint64_t span; /* address of one seen since the last look; 0 none */
	bool asked;    /* a look is under way */
	bool several;  /* its spans have different resources */
	uint64_t next_ns, pause_ns;
	struct span_resource resource; /* that the identity was taken from; address 0: none yet */
};

struct target {
	pid_t pid;
	uint32_t generation; /* 0: still being read */
	bool named;	     /* by --pid: its absence is an error */
	struct process *process;
	struct binary *binary;
	uint64_t bias;
	struct identity identity;
	struct target_service service;
	int start_probe, newproc_probe; /* of this process alone; -1 none */
	bool spans_seen;
	unsigned unseen_spans; /* found on stacks though younger than the probes */
	uint64_t last_unseen;  /* address of the last of them */
	struct probe_guard guard;
	struct census census;
	unsigned census_rounds; /* left, of looks at goroutines that ran each time */
	uint64_t attached_ns;
	uint64_t probed_wall_ns; /* spans that began before are older than the probes */
	/* The resource's handle in the profile of a window, by the window's number. */
	uint64_t window;
	uint32_t resource;
};

struct targets_config {
	const struct options *options;
	const struct log *log;
	struct capture *capture;
	struct loader *loader;
	struct binary_store *store;
	struct symbolizer *symbolizer;
	struct block_cache *cache; /* for look-ups on the loop's thread */
	struct waits *waits;	   /* NULL: none */
};

int targets_open(const struct targets_config *config, struct targets **out);
void targets_close(struct targets *t);

/* Wants a process: asks the loader for it. -EEXIST is no error and not returned. */
int targets_add(struct targets *t, pid_t pid, bool named);
/* Takes over what the loader read; attaches. Returns the target when it is profiled from now on. */
struct target *targets_adopt(struct targets *t, struct loaded *loaded);
void targets_on_exec(struct targets *t, const struct process_record *record);
void targets_on_exit(struct targets *t, const struct process_record *record);
/* By pid; NULL unknown. `generation` 0 finds one that is still being read too. */
struct target *targets_find(struct targets *t, pid_t pid, uint32_t generation);
struct target *targets_find_generation(struct targets *t, uint32_t generation);
/* Attaches the `go` probe: goroutines inherit spans from here on. */
void targets_on_first_span(struct targets *t, const struct process_record *record);
/* A span of the target lies there: it leads to what its traces say of the service. */
void target_see_span(struct target *target, uint64_t address);
/*
 * Asks the loader to look there, of targets of which that is not known or was not looked for of
 * late; without a span, for a provider that was set meanwhile.
 */
void targets_ask_services(struct targets *t, uint64_t now_ns);
/*
 * Takes over what such a look brought. Returns the target when it is another service than was known
 * until now; `was` is what it was. Where its spans have different resources the first one read
 * counts.
 */
struct target *targets_take_service(struct targets *t, const struct loaded *loaded,
				    struct identity *was);
/* Attaches probes of an executable before any process runs it (COMMAND). */
void targets_prepare(struct targets *t, const char *program);
/*
 * Once a second: gives a process fewer probes when they cost it too much, and more again; goes to
 * the next start point where one tells of no span though spans are found on stacks.
 */
void targets_guard(struct targets *t, uint64_t now_ns);
/* Goes on with the census of a process, where goroutines are left or ran each time so far. */
void targets_complete_census(struct targets *t);
/* Says which processes have had fewer probes for a while, at the end. */
void targets_sum_up(const struct targets *t);
/* Says, once a target, why nothing is tagged; once, that there is no target. */
void targets_explain(struct targets *t, uint64_t now_ns);
/* Asks again for those that could not be read in the middle of an exec. */
void targets_retry(struct targets *t);
/* Looks at all of them: the record of an exit or exec may have been lost. */
void targets_verify(struct targets *t);
/* Says which named processes were not read before the end; they count as refused. */
void targets_end(struct targets *t);
/* What is being looked for, in words that follow "no"; in TARGETS_WANTED_SIZE bytes. */
void targets_describe_wanted(const struct targets *t, char *to, size_t size);

size_t targets_count(const struct targets *t);	 /* profiled or being read */
size_t targets_adopted(const struct targets *t); /* profiled since the start, ended ones too */
size_t targets_refused(const struct targets *t); /* named ones that could not be profiled */

#endif
