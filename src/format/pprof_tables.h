/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: the tables of a pprof profile from a stranger, with every reference checked.
 */
#ifndef FORMAT_PPROF_TABLES_H
#define FORMAT_PPROF_TABLES_H

#include "base/location.h"
#include "format/pprof_ids.h"
#include "pprof.pb-c.h"

struct arena;
struct reading;

struct pprof_tables {
	struct arena *arena;	 /* lent */
	struct reading *reading; /* lent */
	const Pprof__Profile *profile;
	struct pprof_ids mapping_ids, function_ids, location_ids;
	/* By index in the profile's lists. */
	struct frame_mapping *mappings;
	struct location **locations; /* NULL: nothing is known of it */
};

/*
 * Checks strings, mappings, functions and locations, and makes locations of them. Overlong texts
 * are cut in place. `arena` and `reading` are set before; the profile is lent for the life of the
 * tables. -EBADMSG, -ENOMEM.
 */
int pprof_tables_open(struct pprof_tables *t, Pprof__Profile *profile);
/* An entry of the string table, lent; -EBADMSG. */
int pprof_tables_text(const struct pprof_tables *t, int64_t index, const char **text);
/* The location that a sample names; NULL: nothing is known of it. -EBADMSG. */
int pprof_tables_location(const struct pprof_tables *t, uint64_t id, const struct location **out);
/* The name of the program's file without its folders, "" when no mapping looks like one. */
const char *pprof_tables_program(const struct pprof_tables *t);

#endif
