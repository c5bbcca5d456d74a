/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/kallsyms, a line: address type name [module]. 8 bytes and the name are kept of each
 * function: about 2 MB for the 64,000 functions of a cloud kernel. Over the caps names are lost,
 * but no address gets another function's.
 */
#include "symbolize/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

#define SYMBOLS_MAX	   180000
#define NAMES_BYTES_MAX	   (2600 << 10) /* together with the symbols below 4 MiB */
#define LINE_BYTES_MAX	   1024		/* KSYM_NAME_LEN is 512; longer lines are skipped */
#define READ_BYTES	   16384
#define REACH		   (UINT64_C(2) << 30) /* modules lie within 2 GiB of the kernel's text */
#define NO_NAME		   UINT32_MAX
#define FUNCTION_BYTES_MAX (256 << 10) /* kallsyms tells no sizes: nothing lies further */

struct symbol {
	uint32_t offset; /* of the address from base */
	uint32_t name;	 /* offset in names; NO_NAME: there was no room for it */
};

struct kallsyms {
	uint64_t base;
	struct symbol *symbols; /* by address */
	size_t count, capacity;
	struct buffer names;
	bool sorted;
	bool any_zero;
	uint64_t dropped;
	uint32_t dropped_first, dropped_last; /* of symbols over the cap; first > last: none */
};

static bool take_address(struct bytes *b, uint64_t *address)
{
	unsigned int digits = 0;

	*address = 0;
	for (; bytes_left(b) && digits <= 16; digits++, b->at++) {
		uint8_t c = *b->at;

		if (c >= '0' && c <= '9')
			*address = *address << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			*address = *address << 4 | (c - 'a' + 10);
		else
			break;
	}
	return digits && digits <= 16 && bytes_u8(b) == ' ';
}

/* The padding in front of a function has a name of its own, but never runs. */
static bool is_padding(const uint8_t *name, size_t size)
{
	return size > 6 && (!memcmp(name, "__pfx_", 6) || !memcmp(name, "__cfi_", 6));
}

/* An address that the array has no room for: near it no answer is certain any more. */
static void drop_address(struct kallsyms *k, uint32_t offset)
{
	if (offset < k->dropped_first)
		k->dropped_first = offset;
	if (offset > k->dropped_last)
		k->dropped_last = offset;
	k->dropped++;
}

static int add_name(struct kallsyms *k, const uint8_t *name, size_t size, uint32_t *at)
{
	if (k->names.size + size + 1 > k->names.cap) {
		*at = NO_NAME;
		k->dropped++;
		return 0;
	}
	*at = (uint32_t)k->names.size;
	buffer_add(&k->names, name, size);
	buffer_add(&k->names, "", 1);
	return k->names.failed ? -ENOMEM : 0;
}

static int add_symbol(struct kallsyms *k, uint64_t address, const uint8_t *name, size_t size)
{
	struct symbol *symbols;
	uint32_t offset;
	int err;

	if (!k->count)
		k->base = address - REACH;
	/* Without the first test 2 GiB beyond a kernel's text would begin anew at 0. */
	if (!(address >> 63) || address - k->base > UINT32_MAX) {
		k->dropped++; /* never asked for: kallsyms_find knows nothing there */
		return 0;
	}
	offset = (uint32_t)(address - k->base);
	if (k->count == SYMBOLS_MAX) {
		drop_address(k, offset);
		return 0;
	}
	if (k->count == k->capacity) {
		size_t capacity = k->capacity ? k->capacity * 2 : 4096;

		symbols = reallocarray(k->symbols, capacity, sizeof(*symbols));
		if (!symbols)
			return -ENOMEM;
		k->symbols = symbols;
		k->capacity = capacity;
	}
	err = add_name(k, name, size, &k->symbols[k->count].name);
	if (err)
		return err;
	k->symbols[k->count].offset = offset;
	if (k->count && offset < k->symbols[k->count - 1].offset)
		k->sorted = false;
	k->count++;
	return 0;
}

static int add_line(struct kallsyms *k, struct bytes line)
{
	const uint8_t *name, *end;
	uint64_t address;
	uint8_t type;

	if (!take_address(&line, &address))
		return 0;
	type = bytes_u8(&line);
	if (!type || !strchr("tTwW", type) || bytes_u8(&line) != ' ' || line.failed)
		return 0;
	if (!address) {
		k->any_zero = true;
		return 0;
	}
	name = line.at;
	for (end = name; end < line.end && *end != '\t' && *end != ' ' && *end; end++)
		;
	if (end == name || is_padding(name, (size_t)(end - name)))
		return 0;
	return add_symbol(k, address, name, (size_t)(end - name));
}

/* Consumes whole lines; returns how many bytes of them there were, or an error. */
static ssize_t add_text(struct kallsyms *k, const char *text, size_t size)
{
	const char *at = text, *newline;

	while (at < text + size && (newline = memchr(at, '\n', (size_t)(text + size - at)))) {
		if (newline - at < LINE_BYTES_MAX) {
			int err = add_line(k, bytes_over(at, (size_t)(newline - at)));

			if (err)
				return err;
		}
		at = newline + 1;
	}
	return at - text;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

/* Sorts and gives back what growing left over. */
static void finish(struct kallsyms *k)
{
	void *smaller;

	if (!k->sorted)
		qsort(k->symbols, k->count, sizeof(*k->symbols), compare_symbols);
	if (!k->count)
		return;
	smaller = reallocarray(k->symbols, k->count, sizeof(*k->symbols));
	if (smaller) {
		k->symbols = smaller;
		k->capacity = k->count;
	}
	smaller = realloc(k->names.data, k->names.size);
	if (smaller) {
		k->names.data = smaller;
		k->names.capacity = k->names.size;
	}
}

static struct kallsyms *create(void)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (k) {
		buffer_open(&k->names, NAMES_BYTES_MAX);
		k->sorted = true;
		k->dropped_first = UINT32_MAX;
	}
	return k;
}

int kallsyms_parse(const void *text, size_t size, struct kallsyms **out)
{
	struct kallsyms *k = create();
	ssize_t used;

	if (!k)
		return -ENOMEM;
	used = add_text(k, size ? text : "", size);
	if (used < 0) {
		kallsyms_close(k);
		return (int)used;
	}
	finish(k);
	*out = k;
	return 0;
}

int kallsyms_read(int fd, struct kallsyms **out)
{
	struct kallsyms *k = create();
	char text[READ_BYTES];
	size_t kept = 0;
	ssize_t size, used;
	int err = -ENOMEM;

	if (!k)
		return err;
	while ((size = read(fd, text + kept, sizeof(text) - kept))) {
		if (size < 0 && errno == EINTR)
			continue;
		used = size < 0 ? -errno : add_text(k, text, kept + (size_t)size);
		if (used < 0) {
			err = (int)used;
			goto fail;
		}
		kept += (size_t)size - (size_t)used;
		/* The rest of a line that is too long goes, so that reading goes on. */
		if (kept > LINE_BYTES_MAX)
			kept = 0;
		memmove(text, text + used, kept);
	}
	finish(k);
	*out = k;
	return 0;
fail:
	kallsyms_close(k);
	return err;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbols);
	buffer_close(&k->names);
	free(k);
}

bool kallsyms_is_hidden(const struct kallsyms *k)
{
	return !k->count && k->any_zero;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->count;
}

uint64_t kallsyms_dropped(const struct kallsyms *k)
{
	return k->dropped;
}

size_t kallsyms_bytes(const struct kallsyms *k)
{
	return sizeof(*k) + k->capacity * sizeof(*k->symbols) + k->names.capacity;
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address, uint64_t *start)
{
	uint64_t offset = address - k->base;
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->symbols[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !(address >> 63) || offset > UINT32_MAX ||
	    offset - k->symbols[low - 1].offset >= FUNCTION_BYTES_MAX)
		return NULL;
	low--;
	/* Of several names of one address the first, as the kernel itself does. */
	while (low && k->symbols[low - 1].offset == k->symbols[low].offset)
		low--;
	/* One that was dropped may begin in between. */
	if (k->symbols[low].name == NO_NAME ||
	    (k->symbols[low].offset < k->dropped_last && offset >= k->dropped_first))
		return NULL;
	*start = k->base + k->symbols[low].offset;
	return (const char *)k->names.data + k->symbols[low].name;
}
