/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: which values of a pprof profile's samples are CPU time, and which waiting. */
#ifndef FORMAT_PPROF_TYPES_H
#define FORMAT_PPROF_TYPES_H

#include <stdint.h>

#include "format/pprof_tables.h"

struct pprof_types {
	size_t count;	     /* values that every sample has */
	size_t cpu, off_cpu; /* which of them; PPROF_TYPE_NONE: no such */
	/* What one unit of them is worth. */
	uint64_t cpu_ns, off_cpu_ns;
	uint64_t period_ns; /* CPU time that a sample stands for; 1 where nothing says it */
	size_t left_out;    /* types that are neither, nor the count of samples */
};
#define PPROF_TYPE_NONE SIZE_MAX

/*
 * cpu in a unit of time is CPU time; else samples/count are, each a period of CPU time. off_cpu in
 * a unit of time is waiting. -EBADMSG where there is none of them: another kind of profile.
 */
int pprof_types_read(const struct pprof_tables *t, struct pprof_types *out);

#endif
