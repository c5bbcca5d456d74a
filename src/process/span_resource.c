/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some dozen reads of a hostile target's memory: each pointer may lead anywhere, but none is
 * followed twice, and nothing that was read says how much is read next beyond the caps below.
 */
#include "process/span_resource.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "process/identity_private.h"
#include "process/process.h"
#include "process/remote_pieces.h"

#define PAIRS_BELOW	 4096
#define PAIR_BYTES_MAX	 256 /* of any SDK version; larger ones are not believed */
#define KEY_BYTES_MAX	 32  /* of those that are wanted */
#define TEXT_BYTES_BELOW 4096
#define BATCH		 64
#define VALUE_STRING	 4 /* attribute.STRING, in all versions */

/* A type descriptor, of an array: abi.ArrayType. Also abi.ITab. */
#define TYPE_BYTES 72
#define TYPE_KIND  23
#define ARRAY_ELEM 48
#define ARRAY_LEN  64
#define ITAB_TYPE  8
#define KIND_MASK  31
#define KIND_ARRAY 17

/* What is kept while pairs are gone through. */
struct reading {
	const struct process *process;
	const struct go_resource_layout *at;
	struct identity *out;
	unsigned found; /* a bit for each wanted key */
	uint8_t pairs[BATCH * PAIR_BYTES_MAX];
};

struct text {
	uint64_t address, size;
};

/* How many pairs a type is an array of. Such a descriptor may lie on the heap. */
static int count_pairs(const struct process *p, uint64_t pair_type, uint64_t type, uint64_t *count)
{
	uint8_t descriptor[TYPE_BYTES];
	uint64_t element;
	int error = process_read_memory(p, type, descriptor, sizeof(descriptor));

	if (error)
		return error;
	memcpy(&element, descriptor + ARRAY_ELEM, sizeof(element));
	memcpy(count, descriptor + ARRAY_LEN, sizeof(*count));
	return (descriptor[TYPE_KIND] & KIND_MASK) == KIND_ARRAY && element == pair_type &&
			       *count < PAIRS_BELOW
		       ? 0
		       : -EINVAL;
}

/* A pointer of the target, as it stands at an address. */
static int follow(const struct process *p, uint64_t at, uint64_t *to)
{
	int error = process_read_memory(p, at, to, sizeof(*to));

	return error ? error : *to && !(*to & 7) ? 0 : -EINVAL;
}

/* The provider that a holder has, where one of the SDK's is behind the pointer at `variable`. */
static int read_holder(const struct process *p, const struct go_resource_layout *at, uint64_t bias,
		       uint64_t variable, uint64_t *provider)
{
	uint64_t held[2], value[2], type;
	int error = follow(p, variable, &variable);

	if (!error)
		error = process_read_memory(p, variable, held, sizeof(held));
	if (!error && held[0] != at->holder_type + bias)
		error = -EINVAL;
	if (!error)
		error = process_read_memory(p, held[1], value, sizeof(value));
	if (!error)
		error = process_read_memory(p, value[0] + ITAB_TYPE, &type, sizeof(type));
	if (!error && type != at->provider_type + bias)
		error = -EINVAL;
	*provider = error ? 0 : value[1];
	return error;
}

static int find_global(const struct process *p, const struct go_resource_layout *at, uint64_t bias,
		       uint64_t *provider)
{
	for (size_t i = 0; i < at->global_count && i < GO_GLOBALS_MAX; i++)
		if (!read_holder(p, at, bias, at->globals[i] + bias, provider))
			return 0;
	return process_is_alive(p) ? -ENOENT : -ESRCH;
}

int span_resource_find(const struct process *p, const struct go_resource_layout *at, uint64_t bias,
		       uint64_t span, struct span_resource *out)
{
	uint64_t address = span, set[2];
	int error = at->pair_type ? 0 : -ENOTSUP;

	*out = (struct span_resource){0};
	if (!error && !span)
		error = find_global(p, at, bias, &address);
	if (!error && span)
		error = follow(p, address + at->tracer, &address);
	if (!error && span)
		error = follow(p, address + at->provider, &address);
	if (!error)
		error = follow(p, address + at->resource, &address);
	if (!error)
		error = process_read_memory(p, address + at->set, set, sizeof(set));
	if (!error)
		error = count_pairs(p, at->pair_type + bias, set[0], &out->pair_count);
	if (error)
		return error;
	out->address = address;
	out->pairs = set[1];
	return 0;
}

static struct text text_at(const uint8_t *pair, uint16_t offset)
{
	struct text t;

	memcpy(&t, pair + offset, sizeof(t));
	return t;
}

/* Its index; IDENTITY_SERVICE_KEYS: not one of them. `key` NULL: any of that size. */
static size_t find_wanted(const char *key, uint64_t size)
{
	size_t i = 0;

	while (i < IDENTITY_SERVICE_KEYS && (strlen(identity_service_keys[i]) != size ||
					     (key && memcmp(identity_service_keys[i], key, size))))
		i++;
	return i;
}

/* Keys of a resource are unique: of equal ones the first counts. */
static int take_value(struct reading *r, const uint8_t *pair, size_t wanted)
{
	struct text value = text_at(pair, r->at->value_text);
	char text[TEXT_BYTES_BELOW];
	uint64_t type;
	int error;

	memcpy(&type, pair + r->at->value_type, sizeof(type));
	if (r->found >> wanted & 1)
		return 0;
	r->found |= 1u << wanted;
	if (type != VALUE_STRING || value.size >= TEXT_BYTES_BELOW)
		return 0;
	error = process_read_memory(r->process, value.address, text, (size_t)value.size);
	if (!error)
		identity_set(r->out, identity_service_keys[wanted], text, (size_t)value.size);
	return error;
}

/* Those of `count` pairs that are wanted: only keys of their sizes are read. */
static int take_pairs(struct reading *r, size_t count)
{
	struct remote_piece pieces[BATCH];
	char keys[BATCH][KEY_BYTES_MAX];
	const uint8_t *of[BATCH];
	size_t chosen = 0;
	int error;

	for (size_t i = 0; i < count; i++) {
		const uint8_t *pair = r->pairs + i * r->at->pair_size;
		struct text key = text_at(pair, r->at->key);

		if (find_wanted(NULL, key.size) == IDENTITY_SERVICE_KEYS)
			continue;
		of[chosen] = pair;
		pieces[chosen] = (struct remote_piece){key.address, keys[chosen], key.size, false};
		chosen++;
	}
	error = remote_pieces_read(r->process, pieces, chosen);
	for (size_t i = 0; i < chosen && !error; i++) {
		size_t wanted = find_wanted(keys[i], pieces[i].read ? pieces[i].size : 0);

		if (wanted < IDENTITY_SERVICE_KEYS)
			error = take_value(r, of[i], wanted);
	}
	return error;
}

static bool fits(const struct go_resource_layout *at)
{
	return at->pair_size <= PAIR_BYTES_MAX && at->key + 16u <= at->pair_size &&
	       at->value_type + 8u <= at->pair_size && at->value_text + 16u <= at->pair_size;
}

int span_resource_read(const struct process *p, const struct go_resource_layout *at,
		       const struct span_resource *resource, struct identity *out)
{
	struct reading r = {.process = p, .at = at, .out = out};
	uint64_t address = resource->pairs, left = resource->pair_count;
	int error = 0;

	*out = (struct identity){0};
	if (!fits(at))
		return -ENOTSUP;
	while (left && !error && r.found != (1u << IDENTITY_SERVICE_KEYS) - 1) {
		size_t count = left < BATCH ? (size_t)left : BATCH;

		error = process_read_memory(p, address, r.pairs, count * at->pair_size);
		if (!error)
			error = take_pairs(&r, count);
		address += count * at->pair_size;
		left -= count;
	}
	return error;
}
