/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of samples whose executable is not read yet, in order of arrival. */
#ifndef AGENT_HELD_SAMPLES_H
#define AGENT_HELD_SAMPLES_H

#include <stdint.h>

struct held_samples;
struct sample_record;

int held_samples_open(uint64_t bytes_max, struct held_samples **out);
void held_samples_close(struct held_samples *h);
/* -ENOSPC at the cap, -EINVAL for less than a sample, -ENOMEM. */
int held_samples_add(struct held_samples *h, const struct sample_record *sample);
/* Hands over and forgets those of one process; `each` NULL: just forgets. Returns their number. */
uint64_t held_samples_take(struct held_samples *h, uint32_t pid,
			   void (*each)(void *context, const struct sample_record *sample),
			   void *context);
/* Forgets all; returns their number. */
uint64_t held_samples_forget(struct held_samples *h);

#endif
