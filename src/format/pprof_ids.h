/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: the IDs by which a pprof profile's messages name each other. */
#ifndef FORMAT_PPROF_IDS_H
#define FORMAT_PPROF_IDS_H

#include <stddef.h>
#include <stdint.h>

struct arena;

/* Any numbers but 0, in any order. */
struct pprof_id {
	uint64_t id;
	size_t index; /* of the message in its list */
};
struct pprof_ids {
	struct pprof_id *rows; /* by id, once sorted; in an arena */
	size_t count;
};

/* Room for that many; -ENOMEM. */
int pprof_ids_open(struct pprof_ids *ids, struct arena *arena, size_t count);
/* Once all `rows` are set. -EEXIST: `*twice` is there twice, or is 0. */
int pprof_ids_sort(struct pprof_ids *ids, uint64_t *twice);
/* -ENOENT: there is none such. */
int pprof_ids_find(const struct pprof_ids *ids, uint64_t id, size_t *index);

#endif
