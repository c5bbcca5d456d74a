/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of one profiling session, shared by the files of the agent that run it. */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct binary_store;
struct block_cache;
struct capture;
struct command;
struct loader;
struct log;
struct options;
struct pipeline;
struct publisher;
struct sample_log;
struct span_sweep;
struct symbolizer;
struct targets;
struct waits;
struct watchdog;

struct session {
	const struct options *options;
	const struct log *log;
	uint64_t period_ns;
	struct block_cache *cache;
	struct binary_store *store;
	struct loader *loader;
	struct symbolizer *symbolizer;
	struct capture *capture;
	struct targets *targets;
	struct pipeline *pipeline;
	struct span_sweep *sweep;
	struct waits *waits; /* NULL: none */
	struct publisher *publisher;
	struct sample_log *sample_log;
	struct command *command; /* NULL: none */
	struct watchdog *watchdog;
	size_t unscanned; /* processes for which there was no room */
	bool failed;	  /* something the exit code must tell */
};

struct loop;

/* Takes the descriptors it needs, before executables take theirs. 0 or a negative errno. */
int loop_open(struct session *s, struct loop **out);
/* Runs until the duration is over, a signal comes or nothing is left to profile. */
int loop_run(struct loop *l);
void loop_close(struct loop *l);

#endif
