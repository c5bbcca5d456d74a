/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files of every format into a directory: a small known profile, and one with dirty names
 * and so many samples that a request must be split. tests/e2e/format.sh checks them. */
#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "format/format.h"
#include "sample_profile.h"

/* What format.sh expects to find again. */
#define BIG_SAMPLES 40000
#define BIG_COUNT   3
#define PART_BYTES  (3584 * 1024) /* what the sender allows itself below 4 MiB */

struct writer {
	const char *directory;
	unsigned part;
	uint64_t samples;
};

static int write_file(const struct writer *w, const char *name, const struct buffer *b)
{
	char path[4096];
	FILE *file;
	int err = 0;

	snprintf(path, sizeof(path), "%s/%s", w->directory, name);
	file = fopen(path, "wb");
	if (!file)
		return -errno;
	if (fwrite(b->data, 1, b->size, file) != b->size)
		err = -EIO;
	return fclose(file) ? -errno : err;
}

static int write_part(void *context, struct buffer *request, uint64_t samples)
{
	struct writer *w = context;
	char name[32];

	w->samples += samples;
	snprintf(name, sizeof(name), "part-%u.otlp", w->part++);
	return write_file(w, name, request);
}

/* Two mappings of one file, names with control characters and bytes that are no UTF-8. */
static int add_big_sample(struct profile *p, uint32_t i)
{
	static const struct frame_mapping mappings[2] = {
		{101, 0x1000, 0x2000000, 0, "/srv/d\x1b[31mirty", "go-id", "00ff"},
		{102, 0x5000000, 0x9000000, 0, "/srv/d\x1b[31mirty", "go-id", ""},
	};
	char name[96], span_name[32];
	const struct frame frames[] = {{name, "/src/\xff.go", i, 1}, {"main.caller", "", 2, 1}};
	struct location *l;
	uint32_t span = 0;
	int err;

	snprintf(name, sizeof(name), "main.function_with_a_rather_long_name_%u\n\xc3", i);
	snprintf(span_name, sizeof(span_name), "GET \x9b\xe2\x80\xae%u", i % 50);
	l = sample_location(1000 + i, 0x1000 + i * 8u, &mappings[i % 2], FRAME_GO, 2, frames);
	if (i % 3)
		span = sample_span(p, (uint8_t)(1 + i % 50), (uint8_t)(1 + i % 250), span_name, 1,
				   i % 4 != 0);
	const struct location *locations[] = {l, l};
	struct sample_input sample = {locations, 2, i % 5 == 0, 1 + i % 2, span, BIG_COUNT - 1};

	err = profile_add(p, &sample);
	/* The same stack once more, now cut or whole. */
	sample.truncated = !sample.truncated;
	sample.count = 1;
	if (!err)
		err = profile_add(p, &sample);
	free(l);
	return err;
}

static struct profile *big_profile(void)
{
	struct profile_config config = {SAMPLE_PERIOD_NS, 100000, 64 << 20, 100000};
	struct profile *p;

	if (profile_open(&config, SAMPLE_START_NS, &p))
		return NULL;
	sample_resource(p, "sh\x1bop", 17);
	sample_resource(p, "", 18);
	profile_set_end(p, SAMPLE_END_NS);
	for (uint32_t i = 0; i < BIG_SAMPLES; i++)
		if (add_big_sample(p, i)) {
			profile_close(p);
			return NULL;
		}
	return p;
}

static int write_all(struct writer *w, const struct profile *p, const char *prefix)
{
	static const struct format_otlp_options wire = {false, "0.1"}, file = {true, "0.1"};
	struct buffer b;
	char name[64];
	int err;

	buffer_open(&b, 256 << 20);
	err = format_otlp(p, &wire, &b);
	snprintf(name, sizeof(name), "%s-wire.otlp", prefix);
	err = err ? err : write_file(w, name, &b);
	b.size = 0;
	err = err ? err : format_otlp(p, &file, &b);
	snprintf(name, sizeof(name), "%s-file.otlp", prefix);
	err = err ? err : write_file(w, name, &b);
	b.size = 0;
	err = err ? err : format_pprof(p, &b);
	snprintf(name, sizeof(name), "%s.pb.gz", prefix);
	err = err ? err : write_file(w, name, &b);
	b.size = 0;
	err = err ? err : format_folded(p, &b);
	snprintf(name, sizeof(name), "%s.folded", prefix);
	err = err ? err : write_file(w, name, &b);
	buffer_close(&b);
	return err;
}

int main(int argc, char **argv)
{
	static const struct format_otlp_options wire = {false, "0.1"};
	struct writer w = {.directory = argc > 1 ? argv[1] : "."};
	struct sample_input unknown = {NULL, 0, true, 1, 0, 6}; /* of its stack nothing is known */
	struct profile *small = sample_profile(), *big = big_profile();
	int err = small && big ? 0 : -ENOMEM;

	err = err ? err : write_all(&w, small, "small");
	err = err ? err : write_all(&w, big, "big");
	err = err ? err : profile_add(small, &unknown);
	err = err ? err : write_all(&w, small, "unknown");
	err = err ? err : format_otlp_each(big, &wire, PART_BYTES, write_part, &w);
	if (err)
		fprintf(stderr, "format_sample: %s\n", strerror(-err));
	else
		printf("%u parts %llu samples\n", w.part, (unsigned long long)w.samples);
	profile_close(big);
	profile_close(small);
	return err ? 1 : 0;
}
