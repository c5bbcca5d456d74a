/* SPDX-License-Identifier: Apache-2.0 */
/* How long the cgroups of a process had used up their CPU quota. */
#ifndef PROCESS_CPU_QUOTA_H
#define PROCESS_CPU_QUOTA_H

#include <stdint.h>

struct cpu_quota;
struct process;

/* Its cgroups as they are now. Where none limits its CPU time that is no error. -ENOMEM. */
int cpu_quota_open(const struct process *p, struct cpu_quota **out);
void cpu_quota_close(struct cpu_quota *q);
/* ns, summed over its cgroups and their CPUs since they began. */
uint64_t cpu_quota_get_throttled_ns(const struct cpu_quota *q);

#endif
