/* SPDX-License-Identifier: Apache-2.0 */
/* Private to process: the few OpenTelemetry settings in a target's environment. */
#ifndef PROCESS_ENVIRON_H
#define PROCESS_ENVIRON_H

#include <stddef.h>

struct identity;

#define ENVIRON_BYTES_MAX (256 << 10) /* of it read; what goes beyond is not looked at */

/*
 * Sets the service's attributes from NUL-separated NAME=VALUE entries; others than
 * OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and SPANPROF are skipped unread. -ECANCELED opted
 * out.
 */
int environ_parse(const void *data, size_t size, struct identity *out);

#endif
