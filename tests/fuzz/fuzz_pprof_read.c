/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a pprof file: refused with a sentence, or a profile that can be written and read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/format.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of all CPU samples; the reader sees to it that it does not overflow. */
static uint64_t count_samples(const struct profile *p, uint64_t *period_ns)
{
	struct profile_view v;
	uint64_t sum = 0;

	profile_get_view(p, &v);
	for (size_t i = 1; i < v.sample_count; i++)
		sum += v.samples[i].count;
	*period_ns = v.period_ns;
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct format_otlp_options file = {.span_names = true};
	struct format_pprof_notes notes;
	struct profile *p = NULL, *again = NULL;
	struct buffer pprof, other;
	uint64_t samples, period_ns;
	char why[256] = "";
	int err = format_pprof_read(data, size, &p, &notes, why, sizeof(why));

	format_is_pprof(data, size);
	if (err) {
		if (!why[0])
			abort();
		return 0;
	}
	buffer_open(&pprof, 64 << 20);
	buffer_open(&other, 64 << 20);
	if (format_otlp(p, &file, &other) || format_folded(p, &other) || format_pprof(p, &pprof) ||
	    format_pprof_read(pprof.data, pprof.size, &again, &notes, why, sizeof(why)) ||
	    notes.malformed_ids)
		abort();
	samples = count_samples(p, &period_ns);
	if (samples <= INT64_MAX / period_ns && count_samples(again, &period_ns) != samples)
		abort();
	buffer_close(&other);
	buffer_close(&pprof);
	profile_close(again);
	profile_close(p);
	return 0;
}
