/* SPDX-License-Identifier: Apache-2.0 */
/* What the name and file of a function say about it, and how to say them in less room. */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Within `function`: without the path of the package, `db.(*Conn).Query`. */
const char *names_short(const char *function);
/* Part of the Go runtime: scheduler, garbage collector, memory, system calls. */
bool names_is_runtime(const char *function);
/* The service's own code: neither the standard library nor a module it depends on. */
bool names_is_own(const char *function, const char *file);
/* Within `file`: its last `parts` parts; all of it when there are no more. */
const char *names_file_tail(const char *file, size_t parts);

#endif
