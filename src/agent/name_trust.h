/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of spans that are known to be names. The string of a span that has ended may be garbage
 * already, its memory another text: it is believed when the same name was seen on a span that was
 * open, or on two that had ended just then. What has ended just then is believed alone where it is
 * text: a collection may have come between, but seldom does.
 */
#ifndef AGENT_NAME_TRUST_H
#define AGENT_NAME_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_trust;

/* Of fixed size: a name that is not asked for makes room for others. -ENOMEM. */
int name_trust_open(struct name_trust **out);
void name_trust_close(struct name_trust *t);
/* Of a span that is open. `generation` is the process image's. */
void name_trust_add(struct name_trust *t, uint32_t generation, const char *name, size_t size);
/* Whether to believe that of a span that has ended, just now or long ago. */
bool name_trust_believe(struct name_trust *t, uint32_t generation, const char *name, size_t size,
			uint64_t address, bool just_ended);

#endif
