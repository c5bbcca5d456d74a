/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is, as resource attributes of its profiles. */
#ifndef PROCESS_IDENTITY_H
#define PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

struct process;
struct gobinary_info;

#define IDENTITY_ATTRIBUTES_MAX 16

/* Keys are semantic-convention names; values are cleaned. Integer values are marked. */
struct identity_attribute {
	char key[64];
	char value[257];
	int is_integer;
};

struct identity {
	size_t count;
	struct identity_attribute attributes[IDENTITY_ATTRIBUTES_MAX];
};

/*
 * service.name, service.version, service.namespace, service.instance.id, deployment.environment
 * and deployment.environment.name from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the
 * target's environment (no other variable is looked at), else service.name from the executable and
 * service.version from build info (`info` may be NULL); process.pid, process.executable.name,
 * host.name. SPANPROF=off in the environment: -ECANCELED (opted out).
 */
int identity_read(const struct process *p, const struct gobinary_info *info, struct identity *out);
const char *identity_get(const struct identity *id, const char *key); /* "" unknown */
/*
 * Takes what a service says of itself from `resource`, as its traces have it: what is not there is
 * taken away, but for service.name, which no profile can do without. False: all was so before.
 */
bool identity_set_service(struct identity *id, const struct identity *resource);

#endif
