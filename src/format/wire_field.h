/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: the fields of a protobuf message, unread: which there are and where they end.
 */
#ifndef FORMAT_WIRE_FIELD_H
#define FORMAT_WIRE_FIELD_H

#include <stdint.h>

struct bytes;

/* Moves past one field; its number, 0 when the bytes are no message. */
uint64_t wire_field_skip(struct bytes *b);

#endif
