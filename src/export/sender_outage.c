/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limit of the sender's log lines: an endpoint that is down for a night fills no disk. */
#include "export/sender_outage.h"

#include <inttypes.h>

#include "base/log.h"

#define LOG_EVERY_NS 30000000000ull

static bool is_due(uint64_t *logged_ns, uint64_t now_ns)
{
	if (*logged_ns && now_ns - *logged_ns < LOG_EVERY_NS)
		return false;
	*logged_ns = now_ns;
	return true;
}

void sender_outage_failed(struct sender_outage *o, uint64_t now_ns, const char *reason, bool again,
			  uint64_t lost)
{
	bool first = !o->failing;

	if (first) {
		o->failing = true;
		o->told = false;
		o->since_ns = now_ns;
	}
	if (!is_due(&o->logged_ns, now_ns))
		return;
	o->told = true;
	if (first)
		log_warn(o->log, "OTLP: %s: %s: %s", o->url, reason,
			 again ? "will try again" : "request dropped");
	else
		log_warn(o->log,
			 "OTLP: %s: still failing after %" PRIu64 " s: %s (%" PRIu64
			 " samples dropped so far)",
			 o->url, (now_ns - o->since_ns) / 1000000000, reason, lost);
}

void sender_outage_worked(struct sender_outage *o, uint64_t now_ns, uint64_t lost)
{
	if (o->failing && o->told)
		log_info(o->log,
			 "OTLP: %s: works again after %" PRIu64 " s (%" PRIu64
			 " samples dropped so far)",
			 o->url, (now_ns - o->since_ns) / 1000000000, lost);
	o->failing = false;
}

void sender_outage_partial(struct sender_outage *o, uint64_t now_ns, uint64_t rejected,
			   const char *message)
{
	if (!is_due(&o->partial_logged_ns, now_ns))
		return;
	if (rejected)
		log_warn(o->log, "OTLP: %s: the receiver rejected %" PRIu64 " profiles: %s", o->url,
			 rejected, *message ? message : "no reason given");
	else
		log_warn(o->log, "OTLP: %s: the receiver says: %s", o->url, message);
}
