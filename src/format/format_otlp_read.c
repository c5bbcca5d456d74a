/* SPDX-License-Identifier: Apache-2.0 */
/* A file of OTLP requests → a profile: finds where the requests begin and end. */
#include "format/format.h"

#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "format/otlp_read.h"
#include "format/reading.h"
#include "format/wire_field.h"
#include "profile/profile.h"

/* ExportProfilesServiceRequest.dictionary */
#define FIELD_DICTIONARY 2

/* The number of dictionaries in joined requests; 0 too when the bytes are no message. */
static size_t count_dictionaries(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_over(data, size);
	size_t count = 0;

	while (bytes_left(&b)) {
		uint64_t number = wire_field_skip(&b);

		if (!number)
			return 0;
		count += number == FIELD_DICTIONARY;
	}
	return count;
}

/*
 * Requests may follow each other without a frame (files appended to each other). A dictionary
 * belongs to what stands before it, or, when the file begins with one, to what comes after.
 */
static int read_joined(struct otlp_reader *r, const uint8_t *data, size_t size)
{
	struct bytes b = bytes_over(data, size);
	size_t dictionaries = count_dictionaries(data, size);
	const uint8_t *start = data;
	bool leads = wire_field_skip(&b) == FIELD_DICTIONARY;
	int err = 0;

	while (!err && dictionaries > 1 && bytes_left(&b)) {
		const uint8_t *field = b.at;

		if (wire_field_skip(&b) != FIELD_DICTIONARY)
			continue;
		err = otlp_read_request(r, start, (size_t)((leads ? field : b.at) - start));
		start = leads ? field : b.at;
	}
	if (!err && (start == data || start != data + size))
		err = otlp_read_request(r, start, (size_t)(data + size - start));
	return err;
}

/* A Collector's file exporter puts four bytes of length, big endian, before every request. */
static int read_framed(struct otlp_reader *r, const uint8_t *data, size_t size)
{
	struct bytes b = bytes_over(data, size);
	int err = 0;

	while (!err && bytes_left(&b)) {
		uint32_t length = __builtin_bswap32(bytes_u32(&b));
		const uint8_t *request = bytes_take(&b, length);

		if (b.failed)
			return reading_fail(r->reading, "the last request in the file is cut off");
		err = otlp_read_request(r, request, length);
	}
	return err;
}

int format_otlp_read(const void *data, size_t size, struct profile **out, char *why,
		     size_t why_size)
{
	struct reading reading = reading_of(size, why, why_size);
	struct otlp_reader r = {.reading = &reading};
	int err;

	if (size > FORMAT_OTLP_FILE_BYTES_MAX)
		return reading_fail(&reading, "larger than %zu MiB",
				    FORMAT_OTLP_FILE_BYTES_MAX >> 20);
	/* No message begins with a byte 0; a frame does, up to 16 MiB. */
	if (size && !*(const uint8_t *)data)
		err = read_framed(&r, data, size);
	else
		err = read_joined(&r, data, size);
	if (!err && !r.out)
		err = reading_fail(&reading, "no profile of CPU samples in it");
	if (err == -ENOMEM)
		snprintf(why, why_size, "too large once unpacked, or out of memory");
	if (err)
		profile_close(r.out);
	else
		*out = r.out;
	return err;
}
