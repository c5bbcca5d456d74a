/* SPDX-License-Identifier: Apache-2.0 */
/* Says that sending fails: at once, then at most every 30 s, and when it works again. */
#ifndef EXPORT_SENDER_OUTAGE_H
#define EXPORT_SENDER_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct log;

struct sender_outage {
	const struct log *log; /* lent */
	const char *url;       /* lent, fit for a log */
	bool failing;
	bool told;		    /* this failure was logged, so its end is too */
	uint64_t since_ns;	    /* of this failure */
	uint64_t logged_ns;	    /* last failure line, 0 never */
	uint64_t partial_logged_ns; /* the same for partial_success */
};

/* `lost`: samples dropped so far. `again`: whether the request will be tried again. */
void sender_outage_failed(struct sender_outage *o, uint64_t now_ns, const char *reason, bool again,
			  uint64_t lost);
void sender_outage_worked(struct sender_outage *o, uint64_t now_ns, uint64_t lost);
void sender_outage_partial(struct sender_outage *o, uint64_t now_ns, uint64_t rejected,
			   const char *message);

#endif
