/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling clocks: one cpu-clock perf event on each online CPU. */
#ifndef CAPTURE_CLOCKS_H
#define CAPTURE_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct clocks;

/*
 * Opens a clock of `period_ns` on each online CPU and attaches `program`; phases are spread over
 * one period, so that CPUs are not all interrupted at once. Takes up to one period.
 */
int clocks_open(const struct bpf_program *program, uint64_t period_ns, struct clocks **out);
void clocks_close(struct clocks *c);
/* A CPU that was taken off and back counts 0 for ever: reopens clocks when the online set changed.
 */
int clocks_refresh(struct clocks *c);
uint32_t clocks_count(const struct clocks *c);

#endif
