/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and runs resource_program, whose spans lead to resources of all kinds. */
#ifndef UNIT_RESOURCE_PROGRAM_H
#define UNIT_RESOURCE_PROGRAM_H

#include "parked_program.h"

#define RESOURCE_SPANS 11

/* Runs it until it has told where its spans lie. `argument`: NULL, it sets a provider for all. */
static inline struct parked *resource_program_run(char *argument)
{
	return parked_run_of("tests/unit/resource_program", argument, RESOURCE_SPANS);
}

/* The address of the span of that name. */
static inline uint64_t resource_program_span(const struct parked *p, const char *name)
{
	return parked_line(p, name)->inner;
}

#endif
