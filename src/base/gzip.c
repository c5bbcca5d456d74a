/* SPDX-License-Identifier: Apache-2.0 */
/* By zlib; what is unpacked may be a stranger's. */
#include "base/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <zlib.h>

#include "base/bytes.h"

#define WINDOW_BITS 15
#define GZIP	    16 /* added to the window bits: a gzip header instead of zlib's */
#define MEMORY	    8  /* zlib's default */

int gzip_pack(const void *data, size_t size, struct buffer *out)
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

bool gzip_begins(const void *data, size_t size)
{
	const uint8_t *bytes = data;

	return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Until the end of the input, or of what `out` takes. */
static int inflate_members(z_stream *z, struct buffer *out)
{
	uint8_t block[65536];
	int rc = Z_OK;

	while (!out->failed && (rc == Z_OK || (rc == Z_STREAM_END && z->avail_in))) {
		if (rc == Z_STREAM_END && inflateReset(z) != Z_OK)
			return Z_STREAM_ERROR;
		z->next_out = block;
		z->avail_out = sizeof(block);
		rc = inflate(z, Z_NO_FLUSH);
		buffer_add(out, block, sizeof(block) - z->avail_out);
	}
	return rc;
}

int gzip_unpack(const void *data, size_t size, struct buffer *out)
{
	z_stream z = {.next_in = (Bytef *)data};
	int rc;

	if (size > UINT_MAX) /* avail_in has no more bits */
		return -EFBIG;
	z.avail_in = (uInt)size;
	if (inflateInit2(&z, WINDOW_BITS + GZIP) != Z_OK)
		return -ENOMEM;
	rc = inflate_members(&z, out);
	inflateEnd(&z);
	if (out->failed)
		return -EFBIG;
	return rc == Z_STREAM_END ? 0 : rc == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}
