/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes cleaned: valid UTF-8 without controls, and cleaning again changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct string_table *t;
	size_t length, again, room = size ? data[0] * 4u + 1 : 1;
	char *once = malloc(room), *twice = malloc(room);
	uint32_t id;

	length = string_clean(once, room, (const char *)data, size);
	if (length >= room || once[length] || strlen(once) != length)
		abort();
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)once[i] < 0x20 || once[i] == 0x7f)
			abort();
	again = string_clean(twice, room, once, length);
	if (again != length || memcmp(once, twice, length))
		abort();
	if (string_table_open(1 << 20, &t))
		abort();
	id = string_table_add(t, (const char *)data, size);
	if (id != (size ? 1 : 0) ||
	    string_table_add(t, string_table_get(t, id), strlen(string_table_get(t, id))) != id)
		abort();
	string_table_close(t);
	free(twice);
	free(once);
	return 0;
}
