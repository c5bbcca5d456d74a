/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, as one plain structure. */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OPTIONS_PIDS_MAX    256
#define OPTIONS_OUTPUTS_MAX 16
#define OPTIONS_GLOBS_MAX   32
#define OPTIONS_FILES_MAX   256

enum options_action { ACTION_PROFILE, ACTION_SHOW, ACTION_DUMP, ACTION_DONE };

struct options {
	enum options_action action;
	pid_t pids[OPTIONS_PIDS_MAX];
	size_t pid_count;
	const char *exe_globs[OPTIONS_GLOBS_MAX]; /* --exe and --include */
	size_t exe_glob_count;
	const char *exclude_globs[OPTIONS_GLOBS_MAX];
	size_t exclude_glob_count;
	bool exe_selector;    /* --exe was given */
	bool include;	      /* --include was given */
	bool all;	      /* other programs than Go's, too */
	char **command;	      /* NULL: none; lent from argv */
	uint64_t duration_ns; /* 0: until interrupted */
	unsigned frequency_hz;
	unsigned wait_hz; /* looks at waiting goroutines a second, at most; 0: none */
	bool wait_all;	  /* also at those outside spans */
	unsigned window_s;
	bool kernel_stacks;
	bool probes;
	double probe_budget; /* % of a process's CPU time; 0: no limit */
	bool verbose;
	const char *outputs[OPTIONS_OUTPUTS_MAX];
	size_t output_count;
	const char *otlp_endpoint; /* NULL: from the environment, if there */
	/* show */
	const char *files[OPTIONS_FILES_MAX];
	size_t file_count;
	const char *trace_id, *span_id, *span_name, *service;
};

/*
 * Parses and checks the whole command line. Returns 0 or -EINVAL with one line in `why`; --help
 * and --version print and give ACTION_DONE.
 */
int options_parse(int argc, char **argv, struct options *out, char *why, size_t why_size);
/* True when exactly the named processes are profiled, not the host. */
bool options_is_local(const struct options *o);

#endif
