/* SPDX-License-Identifier: Apache-2.0 */
/* Files that others, or earlier runs, left behind: .otlp and pprof, told apart by what they hold.
 */
#ifndef AGENT_PROFILE_FILE_H
#define AGENT_PROFILE_FILE_H

#include <stddef.h>

struct log;
struct profile;

/*
 * All files as one profile, the caller's to close. What could not be read as it was meant is told;
 * so is an error, in one line. A negative errno.
 */
int profile_file_read_all(const char *const *paths, size_t count, const struct log *log,
			  struct profile **out);

#endif
