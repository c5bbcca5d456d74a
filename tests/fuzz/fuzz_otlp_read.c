/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of OTLP requests: refused with a sentence, or a profile that can be written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/format.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct format_otlp_options file = {.span_names = true};
	struct profile *p = NULL, *again = NULL;
	struct buffer otlp, other;
	char why[256] = "";
	int err = format_otlp_read(data, size, &p, why, sizeof(why));

	if (err) {
		if (err == -EBADMSG && !why[0])
			abort();
		return 0;
	}
	buffer_open(&otlp, 64 << 20);
	buffer_open(&other, 64 << 20);
	/* What was read can be written, and what was written can be read. */
	if (format_otlp(p, &file, &otlp) ||
	    format_otlp_read(otlp.data, otlp.size, &again, why, sizeof(why)))
		abort();
	format_pprof(p, &other);
	format_folded(p, &other);
	buffer_close(&other);
	buffer_close(&otlp);
	profile_close(again);
	profile_close(p);
	return 0;
}
