/* SPDX-License-Identifier: Apache-2.0 */
/* Private to targets: the table, and what attaches one of its entries. */
#ifndef AGENT_TARGETS_PRIVATE_H
#define AGENT_TARGETS_PRIVATE_H

#include <uthash.h>

#include "agent/targets.h"

struct entry {
	struct target target;
	uint64_t request;  /* of the loader, the last: answers to others are of an older image */
	uint32_t prepared; /* generation that exec gave the image already; 0: none */
	bool first_span;   /* announced before the image was read */
	bool put_off;	   /* to be asked for again at the next sweep */
	unsigned attempts; /* failed ones at the image it has now */
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

/*
 * Attaches what the loader read: describes the process to the kernel side, then sets probes.
 * -ESTALE when it meanwhile runs another file.
 */
int target_attach(struct targets *t, struct entry *e);
/* Finds the spans that are older than its probes. */
void target_take_census(struct targets *t, struct target *target);

/* Sets the probe on span starts, as its level wants it. -ESRCH, -ESTALE: not the same program. */
int target_probes_attach(struct targets *t, struct target *target);
/* Whether the probe on the `go` statement is wanted: host-wide, once spans start in the process. */
bool target_probes_want_go(const struct targets *t, const struct target *target);
void target_probes_attach_go(struct targets *t, struct target *target);
bool target_probes_have_start(const struct targets *t, struct target *target);
bool target_probes_have_go(const struct targets *t, struct target *target);
void target_probes_detach_go(struct targets *t, struct target *target);
/* When its image is let go: its own, and those of its file when it was the last one. */
void target_probes_detach(struct targets *t, struct target *target);
/* As its level, or the file's start points, are now; `all_of_file`: it is no matter of this one. */
void target_probes_renew(struct targets *t, struct target *target, bool all_of_file);

#endif
