/* SPDX-License-Identifier: Apache-2.0 */
/* How Go lays out a frame on this architecture; one frame_rule_ARCH.c each. */
#ifndef UNWIND_FRAME_RULE_H
#define UNWIND_FRAME_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* What SP and the size of a frame (pcsp) tell about it. Addresses are the target's. */
struct frame_rule {
	uint64_t return_slot;  /* address of the return address */
	bool in_link_register; /* the return address is in LR instead */
	uint64_t frame_record; /* what the frame-pointer register holds once it is set; 0: none */
	uint64_t caller_sp;
};

void frame_rule_get(uint64_t sp, uint32_t size_bytes, struct frame_rule *out);
/*
 * Bytes that a call injected by the runtime (asyncPreempt, sigpanic) put between its frame and the
 * interrupted one. The first word of them, if any, is the link register of the interrupted code.
 */
uint32_t frame_rule_injected_bytes(void);

#endif
