/* SPDX-License-Identifier: Apache-2.0 */
/* Private to process: adding to an identity. */
#ifndef PROCESS_IDENTITY_PRIVATE_H
#define PROCESS_IDENTITY_PRIVATE_H

#include <stddef.h>

#include "process/identity.h"

/* Sets or replaces an attribute, cleaned; empty values and those over the cap are left out. */
void identity_set(struct identity *id, const char *key, const char *value, size_t size);

#endif
