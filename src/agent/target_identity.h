/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a process as the resource of its samples in a profile. */
#ifndef AGENT_TARGET_IDENTITY_H
#define AGENT_TARGET_IDENTITY_H

#include <stdint.h>

struct identity;
struct profile;

/* Its handle; 0 at the cap. */
uint32_t target_identity_add(struct profile *p, const struct identity *id);
/* What the profile has under the one identity counts as the other's from here on. */
void target_identity_rename(struct profile *p, const struct identity *was,
			    const struct identity *is);

#endif
