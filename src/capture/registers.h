/* SPDX-License-Identifier: Apache-2.0 */
/* Measures where the kernel saves a task's user registers. */
#ifndef CAPTURE_REGISTERS_H
#define CAPTURE_REGISTERS_H

struct bpf_program;
struct probes;

/*
 * Fires `program` once on a function of our own: what it stores is the distance between
 * task_struct.stack and the saved registers. The probe is gone on return.
 */
int registers_measure(struct probes *probes, const struct bpf_program *program);

#endif
