/* SPDX-License-Identifier: Apache-2.0 */
/* Private to process: the few OpenTelemetry settings in a target's environment. */
#ifndef PROCESS_ENVIRON_H
#define PROCESS_ENVIRON_H

#include <stddef.h>

struct identity;

/* Linux lets arguments and environment take 6 MiB; what goes beyond is not looked at. */
#define ENVIRON_BYTES_MAX (6 << 20)

/*
 * Sets the service's attributes from NUL-separated NAME=VALUE entries; others than
 * OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and SPANPROF are skipped unread. -ECANCELED opted
 * out.
 */
int environ_parse(const void *data, size_t size, struct identity *out);

#endif
