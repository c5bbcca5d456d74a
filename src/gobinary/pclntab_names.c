/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions by symbol, for load time: first the name table is searched for the wanted symbols, then
 * one walk over the functions compares name offsets only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gobinary/pclntab_private.h"

/* Callers ask for some dozens; longer symbols than this are not worth asking for. */
#define MAX_WANTED     4096
#define MAX_NAME_BYTES 512
#define CHUNK_BYTES    ((size_t)262144)
#define FILTER_BITS    16384
/* The largest Go programs have some 20 MB of names; a sparse foreign file may have terabytes. */
#define NAME_TABLE_MAX ((uint64_t)256 << 20)

struct found {
	uint32_t name; /* offset in the name table */
	uint32_t index;
};

struct names {
	struct pclntab *t;
	const char *const *wanted;
	size_t count;
	uint32_t *lengths;		    /* of the wanted symbols */
	uint32_t *next;			    /* of the same length; count: none */
	uint32_t heads[MAX_NAME_BYTES + 1]; /* by length */
	struct found *found;
	size_t found_count, found_capacity;
	uint8_t filter[FILTER_BITS / 8]; /* by the low bits of a found offset */
	void (*each)(void *context, size_t index, const struct go_function *f);
	void *context;
};

/* Wanted symbols are chained by length: comparing lengths rules out nearly every name. */
static int names_open(struct names *n)
{
	n->lengths = calloc(n->count + 1, sizeof(*n->lengths));
	n->next = calloc(n->count + 1, sizeof(*n->next));
	/* One symbol stands once in the table; twice the room is kept for a name that does not. */
	n->found_capacity = 2 * n->count + 16;
	n->found = calloc(n->found_capacity, sizeof(*n->found));
	if (!n->lengths || !n->next || !n->found)
		return -ENOMEM;
	for (size_t i = 0; i <= MAX_NAME_BYTES; i++)
		n->heads[i] = (uint32_t)n->count;
	for (size_t i = 0; i < n->count; i++) {
		size_t length = strlen(n->wanted[i]);

		if (length > MAX_NAME_BYTES)
			return -EINVAL;
		n->lengths[i] = (uint32_t)length;
		n->next[i] = n->heads[length];
		n->heads[length] = (uint32_t)i;
	}
	return 0;
}

static void names_close(struct names *n)
{
	free(n->lengths);
	free(n->next);
	free(n->found);
}

/* `text` has at least `length` bytes. */
static void compare_name(struct names *n, const char *text, size_t length, uint32_t offset)
{
	if (length > MAX_NAME_BYTES)
		return;
	for (uint32_t i = n->heads[length]; i != n->count; i = n->next[i]) {
		if (memcmp(text, n->wanted[i], length) || n->found_count == n->found_capacity)
			continue;
		n->found[n->found_count++] = (struct found){offset, i};
		n->filter[offset % FILTER_BITS / 8] |= (uint8_t)(1 << offset % 8);
	}
}

/* Goes once through the name table in chunks; a name cut by a chunk's end starts the next one. */
static int search_name_table(struct names *n)
{
	const struct pclntab_header *h = &n->t->header;
	uint64_t at = h->names;
	char *chunk;
	int err;

	if (h->compilation_units - h->names > NAME_TABLE_MAX)
		return -EINVAL;
	chunk = malloc(CHUNK_BYTES);
	err = chunk ? 0 : -ENOMEM;
	while (!err && at < h->compilation_units) {
		uint64_t left = h->compilation_units - at;
		size_t size = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES, start = 0;

		err = elf_image_read(n->t->image, at, chunk, size);
		while (!err && start < size) {
			const char *nul = memchr(chunk + start, '\0', size - start);

			if (!nul)
				break;
			compare_name(n, chunk + start, (size_t)(nul - chunk) - start,
				     (uint32_t)(at + start - h->names));
			start = (size_t)(nul - chunk) + 1;
		}
		/* No end in a whole chunk: no symbol is that long. */
		at += start ? start : size;
	}
	free(chunk);
	return err;
}

/* Tells the caller of one match. */
static void emit(struct names *n, size_t index, uint64_t entry, uint64_t end, uint64_t handle,
		 const struct pclntab_function *f)
{
	struct go_function function = {
		.entry = entry,
		.end = end,
		.flags = pclntab_flags(n->t, f),
		.start_line = f->start_line,
		.handle = handle,
	};

	n->each(n->context, index, &function);
}

static int match_function(void *context, uint64_t entry, uint64_t end, uint64_t handle,
			  const struct pclntab_function *f)
{
	uint32_t offset = (uint32_t)f->name;
	struct names *n = context;

	/* Nearly all functions end here. */
	if (!(n->filter[offset % FILTER_BITS / 8] & 1 << offset % 8))
		return 0;
	for (size_t i = 0; i < n->found_count; i++)
		if (n->found[i].name == offset)
			emit(n, n->found[i].index, entry, end, handle, f);
	return 0;
}

/* Up to 1.15 names lie among the functions, so each is read by itself. */
static int match_go_1_2(void *context, uint64_t entry, uint64_t end, uint64_t handle,
			const struct pclntab_function *f)
{
	struct names *n = context;
	char name[MAX_NAME_BYTES + 2];
	size_t length;

	if (pclntab_read_string(n->t, n->t->header.names + (uint32_t)f->name, name, sizeof(name)))
		return 0; /* unreadable, or longer than any wanted */
	length = strlen(name);
	if (length > MAX_NAME_BYTES)
		return 0;
	for (uint32_t i = n->heads[length]; i != n->count; i = n->next[i])
		if (!memcmp(name, n->wanted[i], length))
			emit(n, i, entry, end, handle, f);
	return 0;
}

int pclntab_find_names(struct pclntab *t, const char *const *names, size_t count,
		       void (*each)(void *context, size_t index, const struct go_function *f),
		       void *context)
{
	struct names n = {
		.t = t, .wanted = names, .count = count, .each = each, .context = context};
	int err;

	if (count > MAX_WANTED)
		return -EINVAL;
	err = names_open(&n);
	if (err)
		goto out;
	if (t->header.format == PCLNTAB_GO_1_2) {
		err = pclntab_walk(t, match_go_1_2, &n);
		goto out;
	}
	err = search_name_table(&n);
	if (!err && n.found_count)
		err = pclntab_walk(t, match_function, &n);
out:
	names_close(&n);
	return err;
}

struct single {
	struct go_function *out;
	bool found;
};

/* An ABI wrapper has its function's name; the function itself is wanted. */
static void take_single(void *context, size_t index, const struct go_function *f)
{
	struct single *s = context;

	if (s->found && (f->flags & GO_WRAPPER || !(s->out->flags & GO_WRAPPER)))
		return;
	*s->out = *f;
	s->found = true;
}

int pclntab_find_name(struct pclntab *t, const char *name, struct go_function *out)
{
	struct single s = {.out = out};
	int err = pclntab_find_names(t, &name, 1, take_single, &s);

	return err ? err : s.found ? 0 : -ENOENT;
}
