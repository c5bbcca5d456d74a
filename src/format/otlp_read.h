/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: reads single OTLP requests into one profile. */
#ifndef FORMAT_OTLP_READ_H
#define FORMAT_OTLP_READ_H

#include <stddef.h>
#include <stdint.h>

struct profile;
struct reading;

struct otlp_reader {
	struct profile *out;	      /* NULL until the first profile of CPU samples */
	uint64_t period_ns, carry_ns; /* of `out`; see profile_scale */
	uint64_t period_hint_ns;      /* for a first profile without one: that of another, else 1 */
	uint64_t look_interval_ns;    /* of `out` */
	struct reading *reading;      /* lent, of all requests */
};

/* -EBADMSG, -ENOMEM; what was read before stays in `out`, the caller's to close. */
int otlp_read_request(struct otlp_reader *r, const uint8_t *data, size_t size);

#endif
