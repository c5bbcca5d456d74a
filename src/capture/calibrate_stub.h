/* SPDX-License-Identifier: Apache-2.0 */
/* An instruction of our own to be probed, one calibrate_stub_ARCH.c each. */
#ifndef CAPTURE_CALIBRATE_STUB_H
#define CAPTURE_CALIBRATE_STUB_H

#include <stdint.h>

/* What Go's registers hold at a probe: g, and arguments 0, 1, 4, 5. */
struct calibrate_registers {
	uint64_t g;
	uint64_t arguments[4];
};

/* An instruction that the kernel emulates, as those in targets are. */
extern const char calibrate_stub_probed[];
/* Executes it with these registers set. */
void calibrate_stub_run(const struct calibrate_registers *r);

#endif
