/* SPDX-License-Identifier: Apache-2.0 */
/* arm64: LR is saved at the bottom of the frame, the caller's x29 below SP; a leaf saves none. */
#include "unwind/frame_rule.h"

void frame_rule_get(uint64_t sp, uint32_t size_bytes, struct frame_rule *out)
{
	out->return_slot = sp;
	out->in_link_register = size_bytes == 0;
	out->frame_record = size_bytes ? sp - 8 : 0;
	out->caller_sp = sp + size_bytes;
}

uint32_t frame_rule_injected_bytes(void)
{
	return 16; /* LR, and SP stays aligned: runtime/signal_arm64.go, pushCall */
}
