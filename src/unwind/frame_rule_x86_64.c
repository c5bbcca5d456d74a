/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: the call pushed the return address, the prologue the caller's RBP right below it. */
#include "unwind/frame_rule.h"

void frame_rule_get(uint64_t sp, uint32_t size_bytes, struct frame_rule *out)
{
	out->return_slot = sp + size_bytes;
	out->in_link_register = false;
	out->frame_record = sp + size_bytes - 8;
	out->caller_sp = out->return_slot + 8;
}

uint32_t frame_rule_injected_bytes(void)
{
	return 0; /* the return address alone, as of any call */
}
