/* SPDX-License-Identifier: Apache-2.0 */
/* A small known profile for tests: two services, three spans, inlining, kernel frames. */
#ifndef TESTS_SAMPLE_PROFILE_H
#define TESTS_SAMPLE_PROFILE_H

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "spans/spans.h"

#define SAMPLE_PERIOD_NS 10101010
#define SAMPLE_START_NS	 UINT64_C(1764460800000000000)
#define SAMPLE_END_NS	 UINT64_C(1764460810000000000)

static const struct frame_mapping sample_shop = {
	.id = 1,
	.memory_start = 0x400000,
	.memory_limit = 0x900000,
	.file_offset = 0,
	.file = "/srv/shop",
	.build_id_go = "abc/def",
	.build_id_gnu = "",
};
static const struct frame_mapping sample_libc = {
	.id = 2,
	.memory_start = 0x7f0000000000,
	.memory_limit = 0x7f0000200000,
	.file_offset = 0x26000,
	.file = "/lib/libc.so.6",
	.build_id_go = "",
	.build_id_gnu = "0123456789abcdef",
};
static const struct frame_mapping sample_kernel = {
	.id = 3,
	.file = "[kernel]",
	.build_id_go = "",
	.build_id_gnu = "",
};

/* The caller frees it. */
static inline struct location *sample_location(uint64_t id, uint64_t address,
					       const struct frame_mapping *mapping,
					       enum frame_kind kind, uint32_t frame_count,
					       const struct frame *frames)
{
	size_t size = frame_count * sizeof(*frames);
	struct location *l = calloc(1, sizeof(*l) + size);

	l->id = id;
	l->address = address;
	l->mapping = mapping;
	l->kind = kind;
	l->frame_count = frame_count;
	if (size)
		memcpy(l->frames, frames, size);
	return l;
}

static inline uint32_t sample_span(struct profile *p, uint8_t trace, uint8_t span, const char *name,
				   uint32_t resource, bool sampled)
{
	struct span_sight sight = {
		.name = name,
		.name_size = strlen(name),
		.resource = resource,
		.sampled = sampled,
		.time_ns = 100,
		.value_ns = SAMPLE_PERIOD_NS,
	};

	memset(sight.trace_id, trace, sizeof(sight.trace_id));
	memset(sight.span_id, span, sizeof(sight.span_id));
	return spans_add(profile_get_spans(p), &sight);
}

static inline uint32_t sample_resource(struct profile *p, const char *service, int64_t pid)
{
	const struct resource_attribute attributes[] = {
		{.key = "service.name", .value = service},
		{.key = "process.pid", .number = pid, .is_integer = true},
		{.key = "host.name", .value = "box"},
	};

	return profile_add_resource(p, attributes, 3);
}

/* Locations of the stacks below, leaf first. */
enum { AT_COUNT, AT_MAIN, AT_LIBC, AT_KERNEL, AT_REPORT, AT_LOCATIONS };

static inline void sample_locations(struct location *at[AT_LOCATIONS])
{
	const struct frame count[] = {
		{"main.isPrime", "/src/primes.go", 12, 10},
		{"main.countPrimes[go.shape.int]", "/src/primes.go", 31, 30},
	};
	const struct frame main_frame[] = {{"main.main", "/src/main.go", 99, 80}};
	const struct frame kernel[] = {{"do_syscall_64", "", 0, 0}};
	const struct frame report[] = {{"main.(*server).report", "/src/report;v2.go", 7, 5}};

	at[AT_COUNT] = sample_location(11, 0x401234, &sample_shop, FRAME_GO, 2, count);
	at[AT_MAIN] = sample_location(12, 0x401999, &sample_shop, FRAME_GO, 1, main_frame);
	at[AT_LIBC] = sample_location(13, 0x7f0000001000, &sample_libc, FRAME_NATIVE, 0, NULL);
	at[AT_KERNEL] =
		sample_location(14, 0xffffffff81000010, &sample_kernel, FRAME_KERNEL, 1, kernel);
	at[AT_REPORT] = sample_location(15, 0x402222, &sample_shop, FRAME_GO, 1, report);
}

static inline void sample_free(struct location *at[AT_LOCATIONS])
{
	for (int i = 0; i < AT_LOCATIONS; i++)
		free(at[i]);
}

/*
 * shop: 50 samples in span 1 "GET /cpu-heavy" (countPrimes ← main), 20 in span 2 "GET /report; x"
 * (kernel ← report ← main), 5 in no span (libc ← main), 3 in unsampled span 3.
 * cart: 4 samples in span 1 of the other trace. 82 in all; 5 rows of samples.
 */
static inline struct profile *sample_profile(void)
{
	struct profile_config config = {
		.period_ns = SAMPLE_PERIOD_NS,
		.samples_max = 1000,
		.strings_bytes_max = 1 << 20,
		.spans_max = 100,
	};
	struct location *at[AT_LOCATIONS];
	struct profile *p = NULL;
	uint32_t shop, cart;

	if (profile_open(&config, SAMPLE_START_NS, &p))
		return NULL;
	sample_locations(at);
	shop = sample_resource(p, "shop", 17);
	cart = sample_resource(p, "cart", 18);
	const struct location *primes[] = {at[AT_COUNT], at[AT_MAIN]};
	const struct location *report[] = {at[AT_KERNEL], at[AT_REPORT], at[AT_MAIN]};
	const struct location *libc[] = {at[AT_LIBC], at[AT_MAIN]};
	/* One by one: an initializer list may be evaluated in any order. */
	uint32_t heavy = sample_span(p, 0xa1, 0xb1, "GET /cpu-heavy", shop, true);
	uint32_t slow = sample_span(p, 0xa1, 0xb2, "GET /report; x", shop, true);
	uint32_t unsampled = sample_span(p, 0xa1, 0xb3, "not sampled", shop, false);
	uint32_t other = sample_span(p, 0xb2, 0xb1, "GET /cart", cart, true);
	const struct sample_input samples[] = {
		{primes, 2, false, shop, heavy, 50}, {report, 3, false, shop, slow, 20},
		{libc, 2, true, shop, 0, 5},	     {primes, 2, false, shop, unsampled, 3},
		{primes, 2, false, cart, other, 4},
	};
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		profile_add(p, &samples[i]);
	profile_set_end(p, SAMPLE_END_NS);
	sample_free(at);
	return p;
}

#endif
