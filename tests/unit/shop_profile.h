/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a small shop's would be: many spans of a few names, library code, odd names. */
#ifndef TESTS_SHOP_PROFILE_H
#define TESTS_SHOP_PROFILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "spans/spans.h"

#define SHOP_PERIOD_NS 10000000
#define SHOP_START_NS  UINT64_C(1796000000000000000)

enum shop_frame {
	SHOP_GOEXIT,
	SHOP_SERVE,
	SHOP_HANDLER,
	SHOP_OTEL,
	SHOP_CPU_HEAVY,
	SHOP_PRIMES,
	SHOP_PRIMES_2,
	SHOP_REPORT,
	SHOP_SERIALIZE,
	SHOP_MARSHAL,
	SHOP_ENCODE,
	SHOP_STRING,
	SHOP_MALLOC,
	SHOP_MEMMOVE,
	SHOP_CART,
	SHOP_GC,
	SHOP_GC_DRAIN,
	SHOP_SYSCALL,
	SHOP_KERNEL,
	SHOP_TREE,
	SHOP_FRAMES
};

#define SHOP_LIB                                                                                   \
	"/home/dev/go/pkg/mod/go.opentelemetry.io/contrib/instrumentation/net/http/"               \
	"otelhttp@v0.60.0/"

static const struct frame shop_frames[SHOP_FRAMES] = {
	[SHOP_GOEXIT] = {"runtime.goexit", "/usr/local/go/src/runtime/asm_amd64.s", 1700, 1698},
	[SHOP_SERVE] = {"net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go", 2102,
			1897},
	[SHOP_HANDLER] = {"net/http.HandlerFunc.ServeHTTP", "/usr/local/go/src/net/http/server.go",
			  2294, 2293},
	[SHOP_OTEL] = {"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp."
		       "(*middleware).serveHTTP",
		       SHOP_LIB "handler.go", 179, 70},
	[SHOP_CPU_HEAVY] = {"main.cpuHeavy", "/srv/shop/main.go", 57, 50},
	[SHOP_PRIMES] = {"main.countPrimes", "/srv/shop/main.go", 42, 36},
	[SHOP_PRIMES_2] = {"main.countPrimes", "/srv/shop/main.go", 41, 36},
	[SHOP_REPORT] = {"main.report", "/srv/shop/main.go", 88, 80},
	[SHOP_SERIALIZE] = {"example.com/shop/internal/report.(*Report).Serialize",
			    "/srv/shop/internal/report/serialize.go", 31, 25},
	[SHOP_MARSHAL] = {"encoding/json.Marshal", "/usr/local/go/src/encoding/json/encode.go", 171,
			  164},
	[SHOP_ENCODE] = {"encoding/json.(*encodeState).reflectValue",
			 "/usr/local/go/src/encoding/json/encode.go", 356, 355},
	[SHOP_STRING] = {"encoding/json.appendString[...]",
			 "/usr/local/go/src/encoding/json/encode.go", 1010, 987},
	[SHOP_MALLOC] = {"runtime.mallocgc", "/usr/local/go/src/runtime/malloc.go", 1023, 1010},
	[SHOP_MEMMOVE] = {"runtime.memmove", "/usr/local/go/src/runtime/memmove_amd64.s", 117, 30},
	[SHOP_CART] = {"example.com/shop/cart.(*Server).Add", "/srv/shop/cart/server.go", 19, 12},
	[SHOP_GC] = {"runtime.gcBgMarkWorker", "/usr/local/go/src/runtime/mgc.go", 1411, 1300},
	[SHOP_GC_DRAIN] = {"runtime.gcDrain", "/usr/local/go/src/runtime/mgcmark.go", 1180, 1100},
	[SHOP_SYSCALL] = {"internal/runtime/syscall.Syscall6",
			  "/usr/local/go/src/internal/runtime/syscall/asm_linux_amd64.s", 36, 20},
	[SHOP_KERNEL] = {"tcp_sendmsg", "", 0, 0},
	[SHOP_TREE] = {"main.walk", "/srv/shop/tree.go", 9, 5},
};

static const struct frame_mapping shop_mapping = {1,	   0x400000, 0x900000, 0, "/srv/shop/shop",
						  "go/id", ""};

struct shop {
	struct profile *profile;
	struct location *at[SHOP_FRAMES];
	uint32_t shop, cart;
};

static inline void shop_locations(struct shop *s)
{
	size_t i;

	for (i = 0; i < SHOP_FRAMES; i++) {
		s->at[i] = calloc(1, sizeof(*s->at[i]) + sizeof(struct frame));
		s->at[i]->id = i + 1;
		s->at[i]->address = 0x400000 + 16 * i;
		s->at[i]->mapping = i == SHOP_KERNEL ? NULL : &shop_mapping;
		s->at[i]->kind = i == SHOP_KERNEL ? FRAME_KERNEL : FRAME_GO;
		s->at[i]->frame_count = 1;
		s->at[i]->frames[0] = shop_frames[i];
	}
}

/* `stack` is leaf first and ends in SHOP_FRAMES; `span` of 0 is none. */
static inline void shop_add(struct shop *s, uint32_t resource, uint32_t span, uint64_t count,
			    const enum shop_frame *stack)
{
	const struct location *locations[512];
	struct sample_input input = {
		.locations = locations, .resource = resource, .span = span, .count = count};

	for (; *stack != SHOP_FRAMES; stack++)
		locations[input.location_count++] = s->at[*stack];
	profile_add(s->profile, &input);
}

static inline void shop_ids(uint32_t number, uint8_t trace_id[16], uint8_t span_id[8])
{
	for (int i = 0; i < 4; i++)
		memcpy(trace_id + 4 * i, &number, 4);
	trace_id[0] ^= 0x4b;
	memcpy(span_id, &number, 4);
	span_id[7] = 0xb7;
}

/* A span whose IDs are made of `number`. */
static inline uint32_t shop_span(struct shop *s, uint32_t resource, uint32_t number,
				 const char *name)
{
	struct span_sight sight = {.name = name,
				   .name_size = strlen(name),
				   .resource = resource,
				   .sampled = true,
				   .time_ns = number,
				   .value_ns = SHOP_PERIOD_NS};

	shop_ids(number, sight.trace_id, sight.span_id);
	return spans_add(profile_get_spans(s->profile), &sight);
}

#define SHOP_HTTP	SHOP_HANDLER, SHOP_OTEL, SHOP_HANDLER, SHOP_SERVE, SHOP_GOEXIT, SHOP_FRAMES
#define SHOP_STACK(...) ((const enum shop_frame[]){__VA_ARGS__})

static inline void shop_open(struct shop *s)
{
	const struct profile_config config = {SHOP_PERIOD_NS, 10000, 1 << 20, 1000};
	const struct resource_attribute shop[] = {{"service.name", "shop", 0, false}};
	const struct resource_attribute cart[] = {{"process.pid", NULL, 7, true},
						  {"service.name", "cart", 0, false}};

	memset(s, 0, sizeof(*s));
	if (profile_open(&config, SHOP_START_NS, &s->profile))
		abort();
	shop_locations(s);
	s->shop = profile_add_resource(s->profile, shop, 1);
	s->cart = profile_add_resource(s->profile, cart, 2);
	profile_set_end(s->profile, SHOP_START_NS + UINT64_C(30000000000));
}

static inline void shop_close(struct shop *s)
{
	for (size_t i = 0; i < SHOP_FRAMES; i++)
		free(s->at[i]);
	profile_close(s->profile);
}

/*
 * 1,000 samples of 10 ms: 3 × GET /cpu-heavy (300, 200, 100), 20 × serialize (12 each, "slow" names
 * aside), 1 cart span (40), one with a wide name (20), 100 outside.
 */
static inline void shop_fill(struct shop *s)
{
	static const uint64_t heavy[] = {300, 200, 100};
	uint32_t span, i;

	for (i = 0; i < 3; i++) {
		span = shop_span(s, s->shop, 100 + i, "GET /cpu-heavy");
		shop_add(s, s->shop, span, heavy[i] * 9 / 10,
			 SHOP_STACK(SHOP_PRIMES, SHOP_CPU_HEAVY, SHOP_HTTP));
		shop_add(s, s->shop, span, heavy[i] / 10,
			 SHOP_STACK(SHOP_PRIMES_2, SHOP_CPU_HEAVY, SHOP_HTTP));
	}
	for (i = 0; i < 20; i++) {
		span = shop_span(s, s->shop, 200 + i, "serialize");
		shop_add(s, s->shop, span, 6,
			 SHOP_STACK(SHOP_STRING, SHOP_ENCODE, SHOP_MARSHAL, SHOP_SERIALIZE,
				    SHOP_REPORT, SHOP_HTTP));
		shop_add(s, s->shop, span, 4,
			 SHOP_STACK(SHOP_MALLOC, SHOP_STRING, SHOP_ENCODE, SHOP_MARSHAL,
				    SHOP_SERIALIZE, SHOP_REPORT, SHOP_HTTP));
		shop_add(s, s->shop, span, 2,
			 SHOP_STACK(SHOP_KERNEL, SHOP_SYSCALL, SHOP_REPORT, SHOP_HTTP));
	}
	span = shop_span(s, s->cart, 300, "cart.CartService/Add");
	shop_add(s, s->cart, span, 40,
		 SHOP_STACK(SHOP_TREE, SHOP_TREE, SHOP_TREE, SHOP_CART, SHOP_GOEXIT, SHOP_FRAMES));
	span = shop_span(s, s->shop, 400,
			 "GET /\xe5\xa0\xb1\xe5\x91\x8a/\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e "
			 "\xe2\x80\x94 a name that is far too long for any column of a table");
	shop_add(s, s->shop, span, 20, SHOP_STACK(SHOP_MEMMOVE, SHOP_REPORT, SHOP_HTTP));
	shop_add(s, s->shop, 0, 70, SHOP_STACK(SHOP_GC_DRAIN, SHOP_GC, SHOP_GOEXIT, SHOP_FRAMES));
	shop_add(s, s->cart, 0, 30,
		 SHOP_STACK(SHOP_KERNEL, SHOP_SYSCALL, SHOP_SERVE, SHOP_GOEXIT, SHOP_FRAMES));
}

#endif
