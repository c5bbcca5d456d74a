/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as the pprof file that is written of it, decoded again. */
#ifndef UNIT_ENCODED_PPROF_H
#define UNIT_ENCODED_PPROF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/bytes.h"
#include "format/format.h"
#include "pprof.pb-c.h"

static inline Pprof__Profile *encode(const struct profile *p)
{
	static uint8_t plain[1 << 20];
	z_stream z = {.next_out = plain, .avail_out = sizeof(plain)};
	struct buffer out;
	Pprof__Profile *m;

	buffer_open(&out, 1 << 20);
	assert_int_equal(format_pprof(p, &out), 0);
	z.next_in = out.data;
	z.avail_in = (uInt)out.size;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK); /* gzip only */
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	m = pprof__profile__unpack(NULL, z.total_out, plain);
	assert_non_null(m);
	buffer_close(&out);
	return m;
}

#endif
