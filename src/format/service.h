/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: the service name of a resource. */
#ifndef FORMAT_SERVICE_H
#define FORMAT_SERVICE_H

#include <stdint.h>

struct profile;
struct profile_view;

/* String id of the resource's service.name, 0 when it has none. */
uint32_t format_service_of(const struct profile *p, const struct profile_view *view,
			   uint32_t resource);

#endif
