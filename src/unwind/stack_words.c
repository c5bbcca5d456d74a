/* SPDX-License-Identifier: Apache-2.0 */
/* One bounded look-up; see stack_words.h. */
#include "unwind/stack_words.h"

bool stack_words_get(const struct stack_words *stack, uint64_t address, uint64_t *word)
{
	uint64_t offset = address - stack->address;

	if (address < stack->address || offset % 8 || offset / 8 >= stack->count)
		return false;
	*word = stack->words[offset / 8];
	return true;
}
