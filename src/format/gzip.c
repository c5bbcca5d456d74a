/* SPDX-License-Identifier: Apache-2.0 */
/* One deflate stream with a gzip header (RFC 1952), as pprof expects it. */
#include "format/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <zlib.h>

#include "base/bytes.h"

#define WINDOW_BITS 15
#define GZIP	    16 /* added to the window bits: a gzip header instead of zlib's */
#define MEMORY	    8  /* zlib's default */

int format_gzip(const void *data, size_t size, struct buffer *out)
{
	z_stream z = {.next_in = (Bytef *)data};
	uint8_t block[16384];
	int rc;

	if (size > UINT_MAX) /* avail_in has no more bits */
		return -EFBIG;
	z.avail_in = (uInt)size;
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = block;
		z.avail_out = sizeof(block);
		rc = deflate(&z, Z_FINISH);
		buffer_add(out, block, sizeof(block) - z.avail_out);
	} while (rc == Z_OK && !out->failed);
	deflateEnd(&z);
	return out->failed ? -EFBIG : rc == Z_STREAM_END ? 0 : -EIO;
}
