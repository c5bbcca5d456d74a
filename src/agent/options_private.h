/* SPDX-License-Identifier: Apache-2.0 */
/* Private to options: what the parsers of all subcommands share. */
#ifndef AGENT_OPTIONS_PRIVATE_H
#define AGENT_OPTIONS_PRIVATE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct options;

struct parsing {
	struct options *options;
	char *why;
	size_t why_size;
	bool failed;
	bool explicit_frequency, explicit_wait;
	int next; /* index of the argument behind the last one that was understood */
};

/* Notes why, the first time; EINVAL. */
error_t options_refuse(struct parsing *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* argp does not tell which argument it failed at: the one behind the last good one. */
void options_note_progress(struct parsing *p, int key, const struct argp_state *state);
/* The number that `text` begins with and what is behind it; 0: it is no process ID. */
pid_t options_parse_pid(const char *text, const char **end);
/*
 * Parses, or prints --help or --version (ACTION_DONE). `argv[0]` stands for the program, which help
 * calls `name`. 0 or -EINVAL.
 */
int options_run(struct parsing *p, const struct argp *argp, char *name, int argc, char **argv);

/* The command line behind "dump". As options_parse. */
int options_parse_dump(int argc, char **argv, struct options *out, char *why, size_t why_size);

#endif
