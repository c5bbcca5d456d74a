/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target says of itself in its traces takes the place of what its environment and its
 * executable say. It is read on the loader's thread: memory of a target may hang whoever reads it.
 * The loader has looked for a provider that was set for all before the target was adopted.
 */
#include "agent/targets_private.h"

#include <string.h>

#include "agent/binary_store.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "base/log.h"
#include "gobinary/gobinary.h"
#include "process/process.h"

/* Between looks, from one that failed on; at last, and where the service is known, the longest. */
#define PAUSE_NS	 100000000ull
#define LONGEST_PAUSE_NS 10000000000ull

void target_see_span(struct target *target, uint64_t address)
{
	if (address)
		target->service.span = address;
}

static void ask(struct targets *t, struct target *target, uint64_t now_ns)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);
	struct target_service *s = &target->service;
	const struct service_query query = {
		.layout = info->resource,
		.bias = target->bias,
		.span = s->span,
		.known = s->resource,
	};

	if (!info->resource.pair_type || !(s->span || info->resource.global_count) ||
	    loader_request_service(t->config.loader, target->pid, target->generation, &query))
		return;
	s->span = 0;
	s->asked = true;
	if (s->resource.address)
		s->pause_ns = LONGEST_PAUSE_NS;
	else if (!s->pause_ns)
		s->pause_ns = PAUSE_NS;
	else if (s->pause_ns < LONGEST_PAUSE_NS)
		s->pause_ns *= 2;
	s->next_ns = now_ns + s->pause_ns;
}

void targets_ask_services(struct targets *t, uint64_t now_ns)
{
	for (struct entry *e = t->entries; e; e = e->hh.next) {
		const struct target_service *s = &e->target.service;

		if (e->target.generation && (s->span || !s->resource.address) && !s->asked &&
		    !s->several && now_ns >= s->next_ns)
			ask(t, &e->target, now_ns);
	}
}

/* Another resource, of which the first one's values are no news. */
static void compare(struct targets *t, struct target *target, const struct loaded *loaded)
{
	struct identity other = target->identity;

	if (!identity_set_service(&other, &loaded->identity))
		return;
	target->service.several = true;
	log_info(t->config.log,
		 "pid %d: it has several tracer providers: all its samples count as service %s, "
		 "those of %s, too",
		 target->pid, identity_get(&target->identity, "service.name"),
		 identity_get(&other, "service.name"));
}

static void announce(const struct targets *t, const struct target *target,
		     const struct identity *was)
{
	const char *name = identity_get(&target->identity, "service.name");

	if (!strcmp(name, identity_get(was, "service.name")))
		return;
	if (options_is_local(t->config.options))
		log_info(t->config.log, "pid %d: service %s, by its traces", target->pid, name);
	else
		log_debug(t->config.log, "pid %d: service %s, by its traces", target->pid, name);
}

struct target *targets_take_service(struct targets *t, const struct loaded *loaded,
				    struct identity *was)
{
	struct target *target = targets_find(t, loaded->pid, (uint32_t)loaded->number);
	struct target_service *s;

	if (!target || !target->generation)
		return NULL;
	s = &target->service;
	s->asked = false;
	/* The number of a process that has ended may be another's already. */
	if (loaded->error || !process_is_alive(target->process)) {
		log_debug(t->config.log, "pid %d: no resource behind a span: %s", target->pid,
			  strerror(-loaded->error));
		return NULL;
	}
	if (!memcmp(&s->resource, &loaded->resource, sizeof(s->resource)))
		return NULL;
	if (s->resource.address) {
		compare(t, target, loaded);
		return NULL;
	}
	s->resource = loaded->resource;
	s->next_ns += LONGEST_PAUSE_NS;
	*was = target->identity;
	if (!identity_set_service(&target->identity, &loaded->identity))
		return NULL;
	announce(t, target, was);
	return target;
}
