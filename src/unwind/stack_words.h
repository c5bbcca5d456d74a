/* SPDX-License-Identifier: Apache-2.0 */
/* Copied stack words and where they lie in the target. */
#ifndef UNWIND_STACK_WORDS_H
#define UNWIND_STACK_WORDS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_words {
	uint64_t address; /* of the first one */
	const __u64 *words;
	size_t count;
};

/* False: not among them, or not aligned. */
bool stack_words_get(const struct stack_words *stack, uint64_t address, uint64_t *word);

#endif
