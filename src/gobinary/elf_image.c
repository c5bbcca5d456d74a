/* SPDX-License-Identifier: Apache-2.0 */
/* Headers, segments, sections and notes of an ELF file; see elf_image.h. */
#include "gobinary/elf_image_private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "gobinary/block_cache.h"

/* Limits for what foreign headers may ask for. */
#define MAX_NOTE_BYTES	 16384
#define MAX_NAME_BYTES	 64
#define MAX_BUILD_ID	 64
#define NOTE_GNU_BUILDID 3

/* The image's address names the file in the cache: unique while it is open, forgotten at close. */
static uint64_t file_id(const struct elf_image *image)
{
	return (uint64_t)(uintptr_t)image;
}

/* Bounded by the size at open; a file that shrank since gives what the cache says. */
int elf_image_read_file(struct elf_image *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->file_size || size > image->file_size - offset)
		return -ERANGE;
	if (!image->cache)
		return -EBADF;
	return block_cache_read(image->cache, image->fd, file_id(image), offset, to, size);
}

/* Nothing may wrap: later code adds address and size, and offset and size, without a check. */
static int add_segment(struct elf_image *image, const Elf64_Phdr *p)
{
	struct elf_segment s = {
		.address = p->p_vaddr,
		.memory_size = p->p_memsz,
		.offset = p->p_offset,
		.file_size = p->p_filesz,
		.flags = p->p_flags,
	};

	if (p->p_vaddr > UINT64_MAX - p->p_memsz || p->p_offset > INT64_MAX ||
	    p->p_filesz > INT64_MAX)
		return -EINVAL;
	switch (p->p_type) {
	case PT_LOAD:
		/* The kernel refuses such a file too. */
		if (p->p_filesz > p->p_memsz || image->segment_count == ELF_MAX_SEGMENTS)
			return -EINVAL;
		image->segments[image->segment_count++] = s;
		break;
	case PT_NOTE:
		/* More notes than that are dropped: build ids come first. */
		if (image->note_count < ELF_MAX_NOTES)
			image->notes[image->note_count++] = s;
		break;
	case PT_DYNAMIC:
		image->dynamic = s;
		break;
	case PT_TLS:
		image->tls = (struct elf_tls){p->p_memsz, p->p_align};
		break;
	}
	return 0;
}

static int read_headers(struct elf_image *image)
{
	Elf64_Phdr headers[ELF_MAX_PROGRAM_HEADERS];
	Elf64_Ehdr e;
	int err = elf_image_read_file(image, 0, &e, sizeof(e));

	if (err)
		return err == -ERANGE ? -ENOEXEC : err;
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_ident[EI_DATA] != ELFDATA2LSB || (e.e_type != ET_EXEC && e.e_type != ET_DYN))
		return -ENOEXEC;
	if (e.e_phentsize != sizeof(*headers) || !e.e_phnum || e.e_phnum > ELF_MAX_PROGRAM_HEADERS)
		return -EINVAL;
	image->type = e.e_type;
	image->machine = e.e_machine;
	/* Section headers are a hint, so odd ones are no error. */
	if (e.e_shoff && e.e_shentsize == sizeof(Elf64_Shdr)) {
		image->section_offset = e.e_shoff;
		image->section_count = e.e_shnum;
		image->section_names = e.e_shstrndx;
	}
	err = elf_image_read_file(image, e.e_phoff, headers, e.e_phnum * sizeof(*headers));
	for (size_t i = 0; !err && i < e.e_phnum; i++)
		err = add_segment(image, &headers[i]);
	if (!err && !image->segment_count)
		err = -EINVAL;
	return err == -ERANGE ? -EINVAL : err;
}

int elf_image_open(int fd, struct block_cache *cache, struct elf_image **out)
{
	struct elf_image *image = calloc(1, sizeof(*image));
	struct stat st;
	int err = 0;

	if (!image)
		return -ENOMEM;
	image->cache = cache;
	image->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (image->fd < 0 || fstat(image->fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -ENOEXEC;
	if (err)
		goto out;
	image->file_size = (uint64_t)st.st_size;
	err = read_headers(image);
	if (err)
		goto out;
	*out = image;
	return 0;
out:
	elf_image_close(image);
	return err;
}

void elf_image_close(struct elf_image *image)
{
	if (!image)
		return;
	elf_relocs_close(image->relocs);
	if (image->cache)
		block_cache_forget(image->cache, file_id(image));
	if (image->fd >= 0)
		close(image->fd);
	free(image);
}

bool elf_image_is_deleted(const struct elf_image *image)
{
	struct stat status;

	return !fstat(image->fd, &status) && !status.st_nlink;
}

void elf_image_set_cache(struct elf_image *image, struct block_cache *cache)
{
	if (image->cache)
		block_cache_forget(image->cache, file_id(image));
	image->cache = cache;
}

bool elf_image_is_pie(const struct elf_image *image)
{
	return image->type == ET_DYN;
}

uint16_t elf_image_machine(const struct elf_image *image)
{
	return image->machine;
}

size_t elf_image_segment_count(const struct elf_image *image)
{
	return image->segment_count;
}

const struct elf_segment *elf_image_get_segment(const struct elf_image *image, size_t index)
{
	return index < image->segment_count ? &image->segments[index] : NULL;
}

struct elf_tls elf_image_get_tls(const struct elf_image *image)
{
	return image->tls;
}

/* Where segments overlap (hostile files only) the first one counts. */
const struct elf_segment *elf_image_segment_at(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *s = &image->segments[i];

		if (address >= s->address && address - s->address < s->memory_size)
			return s;
	}
	return NULL;
}

int elf_image_offset_of(const struct elf_image *image, uint64_t address, uint64_t *offset)
{
	const struct elf_segment *s = elf_image_segment_at(image, address);

	if (!s || address - s->address >= s->file_size)
		return -ERANGE;
	*offset = s->offset + (address - s->address);
	return 0;
}

int elf_image_read(struct elf_image *image, uint64_t address, void *to, size_t size)
{
	const struct elf_segment *s = elf_image_segment_at(image, address);
	uint64_t at, backed;
	int err;

	if (!size)
		return 0;
	if (!s)
		return -ERANGE;
	at = address - s->address;
	if (size > s->memory_size - at)
		return -ERANGE;
	backed = at < s->file_size ? s->file_size - at : 0;
	if (backed > size)
		backed = size;
	if (backed) {
		err = elf_image_read_file(image, s->offset + at, to, backed);
		if (err)
			return err;
	}
	memset((uint8_t *)to + backed, 0, size - backed);
	return 0;
}

/* One section header, by index. */
static int read_section(struct elf_image *image, size_t index, Elf64_Shdr *out)
{
	uint64_t at = index * sizeof(*out);

	if (image->section_offset > UINT64_MAX - at)
		return -ERANGE;
	return elf_image_read_file(image, image->section_offset + at, out, sizeof(*out));
}

int elf_image_find_section(const struct elf_image *lent, const char *name, struct elf_section *out)
{
	/* Only the cache changes, which the caller cannot see. */
	struct elf_image *image = (struct elf_image *)(uintptr_t)lent;
	size_t length = strlen(name) + 1;
	char text[MAX_NAME_BYTES];
	Elf64_Shdr names, s;

	if (length > sizeof(text) || image->section_names >= image->section_count ||
	    read_section(image, image->section_names, &names))
		return -ENOENT;
	/* Section 0 is the null section. */
	for (size_t i = 1; i < image->section_count; i++) {
		if (read_section(image, i, &s))
			return -ENOENT;
		if (names.sh_offset > UINT64_MAX - s.sh_name ||
		    elf_image_read_file(image, names.sh_offset + s.sh_name, text, length) ||
		    memcmp(text, name, length))
			continue;
		*out = (struct elf_section){s.sh_addr, s.sh_offset, s.sh_size, s.sh_type};
		return 0;
	}
	return -ENOENT;
}

/* The contents of the first note of that owner and type; they lie within `b`'s memory. */
static const uint8_t *find_note(struct bytes b, const char *owner, uint32_t type, uint32_t *size)
{
	while (bytes_left(&b) >= 12) {
		uint32_t name_size = bytes_u32(&b);
		uint32_t content_size = bytes_u32(&b);
		uint32_t note_type = bytes_u32(&b);
		const uint8_t *name = bytes_take(&b, name_size);
		const uint8_t *content;

		/* Both parts are padded to 4 bytes in 64-bit files as well. */
		bytes_skip(&b, -name_size & 3);
		content = bytes_take(&b, content_size);
		if (b.failed)
			break;
		/* Go's name field is "Go" with two NULs and a size of 4, GNU's "GNU" with one. */
		if (note_type == type && strnlen((const char *)name, name_size) == strlen(owner) &&
		    !memcmp(name, owner, strlen(owner))) {
			*size = content_size;
			return content;
		}
		bytes_skip(&b, -content_size & 3);
	}
	return NULL;
}

/* Go's linker and ld both give a PT_NOTE, also to a file that was stripped. */
int elf_image_get_note(struct elf_image *image, const char *owner, uint32_t type, void *to,
		       size_t size, size_t *used)
{
	int err = -ENOENT;

	for (size_t i = 0; err == -ENOENT && i < image->note_count; i++) {
		const struct elf_segment *n = &image->notes[i];
		size_t note_size = n->file_size < MAX_NOTE_BYTES ? n->file_size : MAX_NOTE_BYTES;
		uint8_t *data = malloc(note_size + 1);
		const uint8_t *content = NULL;
		uint32_t content_size = 0;

		if (!data)
			return -ENOMEM;
		if (!elf_image_read_file(image, n->offset, data, note_size))
			content =
				find_note(bytes_over(data, note_size), owner, type, &content_size);
		if (content) {
			*used = content_size < size ? content_size : size;
			memcpy(to, content, *used);
			err = 0;
		}
		free(data);
	}
	return err;
}

int elf_image_get_build_id(struct elf_image *image, char *hex, size_t hex_size)
{
	uint8_t id[MAX_BUILD_ID];
	size_t size;
	int err = elf_image_get_note(image, "GNU", NOTE_GNU_BUILDID, id, sizeof(id), &size);

	if (err)
		return err;
	if (!size)
		return -ENOENT;
	if (hex_size < 2 * size + 1)
		return -EINVAL;
	hex_write(id, size, hex);
	return 0;
}
