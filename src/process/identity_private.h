/* SPDX-License-Identifier: Apache-2.0 */
/* Private to process: what belongs to an identity, and adding to one. */
#ifndef PROCESS_IDENTITY_PRIVATE_H
#define PROCESS_IDENTITY_PRIVATE_H

#include <stddef.h>

#include "process/identity.h"

/* What a service says of itself, in its environment or in its resource; nothing else is taken. */
#define IDENTITY_SERVICE_KEYS 6
extern const char *const identity_service_keys[IDENTITY_SERVICE_KEYS];

/* Sets or replaces an attribute, cleaned; empty values and those over the cap are left out. */
void identity_set(struct identity *id, const char *key, const char *value, size_t size);

#endif
