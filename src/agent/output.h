/* SPDX-License-Identifier: Apache-2.0 */
/* Files that -o names: format by ending, written whole or not at all. */
#ifndef AGENT_OUTPUT_H
#define AGENT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct profile;

bool output_is_known(const char *path);	     /* by its ending; "-" is folded stacks on stdout */
const char *output_known_names(void);	     /* for messages */
bool output_is_sample_log(const char *path); /* .jsonl: written sample by sample */
/*
 * Whether a file can be made there at all, tried before profiling starts. 0 or a negative errno
 * with one line in `why`.
 */
int output_check(const char *path, char *why, size_t why_size);
/*
 * A new file beside `path`, to be renamed to it: mode 0600, owned by SUDO_UID when set. Its name
 * goes to `name`. A descriptor for the caller to close, or a negative errno.
 */
int output_open_temporary(const char *path, char *name, size_t size);
/* Encodes and writes; mode 0600, owned by SUDO_UID when set. Errors as above. */
int output_write(const char *path, const struct profile *p, char *why, size_t why_size);

#endif
