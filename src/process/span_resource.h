/* SPDX-License-Identifier: Apache-2.0 */
/* What the SDK in a process says of the service: its resource, to which each span leads. */
#ifndef PROCESS_SPAN_RESOURCE_H
#define PROCESS_SPAN_RESOURCE_H

#include <stddef.h>
#include <stdint.h>

struct go_resource_layout;
struct identity;
struct process;

/* Where one lies. It never changes, so that the same place needs no second reading. */
struct span_resource {
	uint64_t address; /* of the Resource; 0 none */
	uint64_t pairs;	  /* of its attributes */
	uint64_t pair_count;
};

/*
 * The resource of a span, from the address of its recordingSpan; 0: of the provider that the
 * program has set for all. `bias`: absolute minus virtual address. -ENOTSUP: the program does not
 * tell the way; -ENOENT: it has set none; -EINVAL: the way leads to something else; -EFAULT,
 * -ESRCH, -EPERM.
 */
int span_resource_find(const struct process *p, const struct go_resource_layout *at, uint64_t bias,
		       uint64_t span, struct span_resource *out);
/*
 * What it says of the service, in `out`: texts only, of the keys that an identity takes from a
 * service. Errors of reading as above.
 */
int span_resource_read(const struct process *p, const struct go_resource_layout *at,
		       const struct span_resource *resource, struct identity *out);

#endif
