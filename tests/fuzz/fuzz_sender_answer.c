/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as a receiver's answer; messages come out clean and within their bounds. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "export/sender_answer.h"

static void check(const struct sender_answer *answer)
{
	size_t i, size = strnlen(answer->message, sizeof(answer->message));

	if (size == sizeof(answer->message))
		abort();
	for (i = 0; i < size; i++) {
		if ((unsigned char)answer->message[i] < ' ')
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sender_answer answer;

	if (sender_answer_read(data, size, &answer) && answer.has_partial_success)
		abort();
	check(&answer);
	sender_answer_read_status(data, size, &answer);
	check(&answer);
	sender_answer_read_text(data, size, &answer);
	check(&answer);
	return 0;
}
