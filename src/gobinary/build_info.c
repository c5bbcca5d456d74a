/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block behind "\xff Go buildinf:". Formats: Go's debug/buildinfo and cmd/link, since 1.13 with
 * pointers to two strings, since 1.18 with the strings themselves.
 */
#include "gobinary/build_info.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "gobinary/elf_image.h"

#define HEADER_BYTES	  32
#define ALIGNMENT	  16
#define MAX_VERSION_BYTES 256
/* Kubernetes' has 30 KB. */
#define MAX_MODULES_BYTES ((size_t)1 << 20)
#define SENTINEL_BYTES	  16
#define SCAN_BYTES	  ((size_t)131072)
#define SCAN_MAX	  ((uint64_t)1 << 30)
#define NOTE_GO_BUILDID	  4
#define SDK_MODULE	  "go.opentelemetry.io/otel/sdk"

static const char magic[14] = "\xff Go buildinf:";

struct text { /* not NUL-terminated; borrowed */
	const char *at;
	size_t size;
};

static bool text_is(struct text t, const char *word)
{
	return t.size == strlen(word) && !memcmp(t.at, word, t.size);
}

/* 14 bytes; the two behind them are pointer size and flags. */
static bool is_header(const uint8_t *raw)
{
	return !memcmp(raw, magic, sizeof(magic));
}

static int scan_segment(struct elf_image *image, const struct elf_segment *s, uint8_t *scratch,
			uint64_t *budget_bytes, uint64_t *address)
{
	uint64_t at = (s->address + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	uint64_t end = s->address + s->file_size;

	while (at < end && end - at >= HEADER_BYTES) {
		size_t size = end - at < SCAN_BYTES ? (size_t)(end - at) : SCAN_BYTES;

		if (size > *budget_bytes ||
		    elf_image_read_file(image, s->offset + (at - s->address), scratch, size))
			return -ENOENT;
		*budget_bytes -= size;
		for (size_t i = 0; i + ALIGNMENT <= size; i += ALIGNMENT)
			if (is_header(scratch + i)) {
				*address = at + i;
				return 0;
			}
		/* The tail of a chunk that is no whole unit is looked at again. */
		at += size & ~(size_t)(ALIGNMENT - 1);
	}
	return -ENOENT;
}

/* A section that lies, or none, leads to the scan. */
static int find_header(struct elf_image *image, uint64_t *address)
{
	uint8_t raw[sizeof(magic)], *scratch;
	uint64_t budget_bytes = SCAN_MAX;
	struct elf_section section;
	int err = -ENOENT;

	if (!elf_image_find_section(image, ".go.buildinfo", &section) &&
	    !elf_image_read(image, section.address, raw, sizeof(raw)) && is_header(raw)) {
		*address = section.address;
		return 0;
	}
	scratch = malloc(SCAN_BYTES);
	if (!scratch)
		return -ENOMEM;
	/* The linker puts it first in the data; in a PIE behind the relocated constants. */
	for (size_t i = 0; err && i < elf_image_segment_count(image); i++) {
		const struct elf_segment *s = elf_image_get_segment(image, i);

		if (s->flags & PF_W)
			err = scan_segment(image, s, scratch, &budget_bytes, address);
	}
	free(scratch);
	return err;
}

/* Allocates what a string of the block says, NUL-terminated; `size` is without the NUL. */
static int copy_string(struct elf_image *image, uint64_t address, uint64_t size, size_t cap,
		       struct text *out)
{
	char *copy;
	int err;

	if (size > cap)
		return -EINVAL;
	copy = malloc(size + 1);
	if (!copy)
		return -ENOMEM;
	err = elf_image_read(image, address, copy, size);
	if (err) {
		free(copy);
		return err;
	}
	copy[size] = '\0';
	*out = (struct text){copy, size};
	return 0;
}

/* A Go string variable: pointer and length. */
static int copy_go_string(struct elf_image *image, uint64_t place, size_t cap, struct text *out)
{
	uint64_t header, data, size;

	if (elf_image_read_word(image, place, &header) ||
	    elf_image_read_word(image, header, &data) ||
	    elf_image_read(image, header + 8, &size, sizeof(size)))
		return -EINVAL;
	return copy_string(image, data, size, cap, out);
}

/* A length as uvarint, then the bytes; moves `*at` behind them. */
static int copy_inline_string(struct elf_image *image, uint64_t *at, size_t cap, struct text *out)
{
	uint8_t raw[10];
	size_t have = sizeof(raw);
	struct bytes b;
	uint64_t size;
	int err;

	/* The block may be the very end of its segment. */
	while (have && elf_image_read(image, *at, raw, have))
		have--;
	b = bytes_over(raw, have);
	size = bytes_uvarint(&b);
	if (b.failed)
		return -EINVAL;
	*at += (uint64_t)(b.at - raw);
	err = copy_string(image, *at, size, cap, out);
	if (!err)
		*at += size;
	return err;
}

/* Takes the part up to `separator` (or all) off the front. */
static struct text take_until(struct text *rest, char separator)
{
	const char *end = rest->size ? memchr(rest->at, separator, rest->size) : NULL;
	struct text part = {rest->at, end ? (size_t)(end - rest->at) : rest->size};
	size_t used = part.size + (end ? 1 : 0);

	rest->at += used;
	rest->size -= used;
	return part;
}

static void set_field(char *field, size_t size, struct text value)
{
	string_clean(field, size, value.at, value.size);
}

/* One line; `was_sdk` says whether the line before named the SDK, for a replacement. */
static bool parse_line(struct text line, bool was_sdk, struct build_info *out)
{
	struct text kind = take_until(&line, '\t');
	struct text path = take_until(&line, '\t');
	struct text version = take_until(&line, '\t');
	bool is_sdk = text_is(path, SDK_MODULE);

	if (text_is(kind, "path")) {
		set_field(out->main_path, sizeof(out->main_path), path);
	} else if (text_is(kind, "mod")) {
		set_field(out->module_version, sizeof(out->module_version), version);
		if (is_sdk)
			set_field(out->sdk_version, sizeof(out->sdk_version), version);
		return is_sdk;
	} else if (text_is(kind, "dep")) {
		if (is_sdk)
			set_field(out->sdk_version, sizeof(out->sdk_version), version);
		return is_sdk;
	} else if (text_is(kind, "=>")) {
		/* A directory has no version: then the replaced one is the best guess. */
		if (was_sdk && version.size)
			set_field(out->sdk_version, sizeof(out->sdk_version), version);
	} else if (text_is(kind, "build")) {
		struct text key = take_until(&path, '=');

		if (text_is(key, "vcs.revision"))
			set_field(out->vcs_revision, sizeof(out->vcs_revision), path);
	}
	return false;
}

/* Lines of runtime/debug.BuildInfo.String, tab-separated. */
static void parse_modules(struct text modules, struct build_info *out)
{
	bool was_sdk = false;

	/* 16 bytes before and behind make the text findable in memory. */
	if (modules.size < 2 * SENTINEL_BYTES + 1 ||
	    modules.at[modules.size - SENTINEL_BYTES - 1] != '\n')
		return;
	modules.at += SENTINEL_BYTES;
	modules.size -= 2 * SENTINEL_BYTES;
	while (modules.size)
		was_sdk = parse_line(take_until(&modules, '\n'), was_sdk, out);
}

int build_info_read(struct elf_image *image, struct build_info *out)
{
	struct text version = {NULL, 0}, modules = {NULL, 0}, rest, part;
	uint8_t header[HEADER_BYTES];
	uint64_t at;
	int err = find_header(image, &at);

	if (err)
		return err;
	memset(out, 0, sizeof(*out));
	if (elf_image_read(image, at, header, sizeof(header)))
		return -EINVAL;
	/* Byte 14: pointer size; 15: bit 0 big endian, bit 1 strings inline. */
	if (header[15] & 2) {
		at += HEADER_BYTES;
		err = copy_inline_string(image, &at, MAX_VERSION_BYTES, &version);
		if (!err)
			err = copy_inline_string(image, &at, MAX_MODULES_BYTES, &modules);
	} else if (header[14] == 8 && !(header[15] & 1)) {
		err = copy_go_string(image, at + 16, MAX_VERSION_BYTES, &version);
		if (!err)
			err = copy_go_string(image, at + 24, MAX_MODULES_BYTES, &modules);
	} else {
		err = -EINVAL;
	}
	if (!err) {
		rest = version;
		part = take_until(&rest, ' ');
		/* "devel go1.27-abc date": the second word is the version. */
		if (text_is(part, "devel"))
			part = take_until(&rest, ' ');
		set_field(out->go_version, sizeof(out->go_version), part);
		parse_modules(modules, out);
	}
	free((char *)(uintptr_t)version.at);
	free((char *)(uintptr_t)modules.at);
	return err == -ERANGE ? -EINVAL : err;
}

int build_info_read_go_build_id(struct elf_image *image, char *to, size_t size)
{
	char raw[256];
	size_t used;
	int err = elf_image_get_note(image, "Go", NOTE_GO_BUILDID, raw, sizeof(raw), &used);

	if (err)
		return err;
	string_clean(to, size, raw, strnlen(raw, used));
	return 0;
}
