/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a gRPC answer: status, message and details of its trailer, the frame of its body. */
#ifndef EXPORT_SENDER_GRPC_ANSWER_H
#define EXPORT_SENDER_GRPC_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/sender_answer.h"

#define SENDER_GRPC_FRAME_BYTES 5 /* in front of a message: one of flags, four of its size */

enum sender_grpc_status {
	SENDER_GRPC_NO_STATUS = -1,
	SENDER_GRPC_OK = 0,
	SENDER_GRPC_CANCELLED = 1,
	SENDER_GRPC_UNKNOWN = 2,
	SENDER_GRPC_DEADLINE_EXCEEDED = 4,
	SENDER_GRPC_PERMISSION_DENIED = 7,
	SENDER_GRPC_RESOURCE_EXHAUSTED = 8,
	SENDER_GRPC_ABORTED = 10,
	SENDER_GRPC_OUT_OF_RANGE = 11,
	SENDER_GRPC_UNIMPLEMENTED = 12,
	SENDER_GRPC_UNAVAILABLE = 14,
	SENDER_GRPC_DATA_LOSS = 15,
	SENDER_GRPC_UNAUTHENTICATED = 16,
};

/* "UNAVAILABLE"; NULL: no status that gRPC knows. */
const char *sender_grpc_status_name(int status);
/*
 * From lines "grpc-status: 14\n", of any case; the last one of a name counts. Returns the status,
 * SENDER_GRPC_NO_STATUS or, of one that is no number, SENDER_GRPC_UNKNOWN. `out` gets message and
 * RetryInfo; what cannot be read is as if it were not there.
 */
int sender_grpc_read_fields(const char *lines, size_t size, struct sender_answer *out);
/*
 * The one message of a body, which may be gzip: servers take the request's encoding for theirs.
 * An empty body is an empty answer. -EBADMSG: cut off, followed by more, or not OTLP.
 */
int sender_grpc_read_body(const void *body, size_t size, struct sender_answer *out);

#endif
