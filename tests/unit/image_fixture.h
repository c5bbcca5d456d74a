/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files made by hand, opened through one block cache, which has to be empty at the end. */
#ifndef UNIT_IMAGE_FIXTURE_H
#define UNIT_IMAGE_FIXTURE_H

#include "elf_file.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"

#define CAP ((size_t)1 << 20)

static struct block_cache *cache;

static int open_cache(void **state)
{
	return block_cache_open(CAP, &cache);
}

static int close_cache(void **state)
{
	int left = block_cache_bytes(cache) != 0;

	block_cache_close(cache);
	return left;
}

static struct elf_image *open_file(struct elf_file *f)
{
	struct elf_image *image;
	int fd = elf_file_write(f);

	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	close(fd);
	return image;
}

#endif
