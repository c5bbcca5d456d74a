/* SPDX-License-Identifier: Apache-2.0 */
/* gzip by zlib; what is read may be a stranger's. */
#include "export/sender_gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW_BITS (15 + 16) /* 16 asks zlib for a gzip header */
#define GZIP_MEMORY	 8

int sender_gzip(const void *data, size_t size, uint8_t **out, size_t *out_size)
{
	z_stream stream = {0};
	uint8_t *packed, *less;
	int rc;

	*out = NULL;
	*out_size = 0;
	if (!size || size > UINT_MAX)
		return -ENOSPC;
	packed = malloc(size);
	if (!packed)
		return -ENOMEM;
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(packed);
		return -ENOMEM;
	}
	stream.next_in = (Bytef *)data;
	stream.avail_in = (uInt)size;
	stream.next_out = packed;
	stream.avail_out = (uInt)size;
	rc = deflate(&stream, Z_FINISH);
	*out_size = stream.total_out;
	deflateEnd(&stream);
	if (rc != Z_STREAM_END) {
		free(packed);
		*out_size = 0;
		return -ENOSPC;
	}
	less = realloc(packed, *out_size);
	*out = less ? less : packed;
	return 0;
}

int sender_gunzip(const void *data, size_t size, uint8_t *to, size_t to_size, size_t *out_size)
{
	z_stream stream = {.next_in = (Bytef *)data, .next_out = to};
	int rc;

	*out_size = 0;
	if (size > UINT_MAX || to_size > UINT_MAX ||
	    inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK)
		return -EBADMSG;
	stream.avail_in = (uInt)size;
	stream.avail_out = (uInt)to_size;
	rc = inflate(&stream, Z_FINISH);
	if (rc == Z_STREAM_END && !stream.avail_in)
		*out_size = stream.total_out;
	inflateEnd(&stream);
	return rc == Z_STREAM_END && !stream.avail_in ? 0 : -EBADMSG;
}
