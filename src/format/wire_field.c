/* SPDX-License-Identifier: Apache-2.0 */
/* Tags and sizes of the protobuf wire format; groups, which nobody writes any more, are refused. */
#include "format/wire_field.h"

#include "base/bytes.h"

uint64_t wire_field_skip(struct bytes *b)
{
	uint64_t tag = bytes_uvarint(b);

	switch (tag & 7) {
	case 0:
		bytes_uvarint(b);
		break;
	case 1:
		bytes_skip(b, 8);
		break;
	case 2: {
		uint64_t size = bytes_uvarint(b);

		bytes_skip(b, size < SIZE_MAX ? (size_t)size : SIZE_MAX);
		break;
	}
	case 5:
		bytes_skip(b, 4);
		break;
	default:
		return 0;
	}
	return b->failed ? 0 : tag >> 3;
}
