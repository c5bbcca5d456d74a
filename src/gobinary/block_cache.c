/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of foreign files in a fixed set of slots: a chained hash finds them, a list orders them by
 * last use. A mapped file that is truncated raises SIGBUS; a short pread is only an error.
 */
#include "gobinary/block_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Look-ups in a big table hop: with 64 KiB, filling blocks took most of their time (dockerd, x3).
 */
#define BLOCK_BYTES ((size_t)8192)
#define BULK_BYTES  ((size_t)65536)
#define MIN_BLOCKS  32
#define MAX_BLOCKS  65536
#define NONE	    UINT32_MAX

/* Indices, not pointers: half the size, and NONE needs no special node. */
struct block {
	uint64_t file_id;
	uint64_t number; /* offset / BLOCK_BYTES */
	uint8_t *data;	 /* NULL: a free slot */
	size_t size;	 /* less than a block at the end of the file */
	uint32_t chain;	 /* next of the same bucket */
	uint32_t newer, older;
};

struct block_cache {
	struct block *blocks;
	uint32_t *buckets; /* heads of chains, at most half full */
	uint32_t block_count;
	uint32_t bucket_mask;
	uint32_t newest, oldest; /* ends of the list */
	size_t bytes;		 /* of blocks that are allocated */
};

int block_cache_open(size_t cap_bytes, struct block_cache **out)
{
	struct block_cache *c = calloc(1, sizeof(*c));
	size_t count = cap_bytes / BLOCK_BYTES;
	uint32_t buckets = 1;

	if (!c)
		return -ENOMEM;
	count = count < MIN_BLOCKS ? MIN_BLOCKS : count > MAX_BLOCKS ? MAX_BLOCKS : count;
	c->block_count = (uint32_t)count;
	while (buckets < 2 * c->block_count)
		buckets *= 2;
	c->bucket_mask = buckets - 1;
	c->blocks = calloc(c->block_count, sizeof(*c->blocks));
	c->buckets = malloc(buckets * sizeof(*c->buckets));
	if (!c->blocks || !c->buckets) {
		block_cache_close(c);
		return -ENOMEM;
	}
	memset(c->buckets, 0xff, buckets * sizeof(*c->buckets));
	/* All slots are in the list from the start; blocks are allocated when first needed. */
	for (uint32_t i = 0; i < c->block_count; i++) {
		c->blocks[i].newer = i ? i - 1 : NONE;
		c->blocks[i].older = i + 1 < c->block_count ? i + 1 : NONE;
	}
	c->newest = 0;
	c->oldest = c->block_count - 1;
	*out = c;
	return 0;
}

void block_cache_close(struct block_cache *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->blocks && i < c->block_count; i++)
		free(c->blocks[i].data);
	free(c->blocks);
	free(c->buckets);
	free(c);
}

/* File ids are addresses and numbers are small: both are mixed before the high bits are taken. */
static uint32_t *bucket_of(struct block_cache *c, uint64_t file_id, uint64_t number)
{
	uint64_t hash = (file_id ^ (number * 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;

	return &c->buckets[(hash >> 32) & c->bucket_mask];
}

static void list_unlink(struct block_cache *c, uint32_t i)
{
	struct block *b = &c->blocks[i];

	*(b->newer == NONE ? &c->newest : &c->blocks[b->newer].older) = b->older;
	*(b->older == NONE ? &c->oldest : &c->blocks[b->older].newer) = b->newer;
}

static void list_push_newest(struct block_cache *c, uint32_t i)
{
	struct block *b = &c->blocks[i];

	b->newer = NONE;
	b->older = c->newest;
	*(c->newest == NONE ? &c->oldest : &c->blocks[c->newest].newer) = i;
	c->newest = i;
}

/* Where the next block to be filled is taken from. */
static void list_push_oldest(struct block_cache *c, uint32_t i)
{
	struct block *b = &c->blocks[i];

	b->older = NONE;
	b->newer = c->oldest;
	*(c->oldest == NONE ? &c->newest : &c->blocks[c->oldest].older) = i;
	c->oldest = i;
}

static void chain_remove(struct block_cache *c, uint32_t i)
{
	uint32_t *link = bucket_of(c, c->blocks[i].file_id, c->blocks[i].number);

	while (*link != i)
		link = &c->blocks[*link].chain;
	*link = c->blocks[i].chain;
}

/* Less than `size` only at the end of the file. */
static ssize_t pread_whole(int fd, void *to, size_t size, uint64_t offset)
{
	size_t done = 0;

	if (offset > INT64_MAX - size)
		return -ERANGE;
	while (done < size) {
		ssize_t got = pread(fd, (uint8_t *)to + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* Fills the least recently used slot; it becomes the newest. */
static int load_block(struct block_cache *c, int fd, uint64_t file_id, uint64_t number,
		      uint32_t *index)
{
	uint32_t i = c->oldest, *bucket;
	struct block *b = &c->blocks[i];
	uint8_t *data = b->data;
	ssize_t got;

	if (data) {
		chain_remove(c, i);
	} else {
		data = malloc(BLOCK_BYTES);
		if (!data)
			return -ENOMEM;
		c->bytes += BLOCK_BYTES;
	}
	/* Free until the read has worked. */
	b->data = NULL;
	got = pread_whole(fd, data, BLOCK_BYTES, number * BLOCK_BYTES);
	if (got <= 0) {
		free(data);
		c->bytes -= BLOCK_BYTES;
		return got ? (int)got : -ERANGE;
	}
	bucket = bucket_of(c, file_id, number);
	b->file_id = file_id;
	b->number = number;
	b->data = data;
	b->size = (size_t)got;
	b->chain = *bucket;
	*bucket = i;
	*index = i;
	return 0;
}

/* Lends a block until the next call. */
static int get_block(struct block_cache *c, int fd, uint64_t file_id, uint64_t number,
		     const struct block **out)
{
	uint32_t i = c->newest;
	int err;

	/* Consecutive reads mostly stay within one block. */
	if (c->blocks[i].data && c->blocks[i].number == number && c->blocks[i].file_id == file_id) {
		*out = &c->blocks[i];
		return 0;
	}
	for (i = *bucket_of(c, file_id, number); i != NONE; i = c->blocks[i].chain)
		if (c->blocks[i].number == number && c->blocks[i].file_id == file_id)
			break;
	if (i == NONE) {
		err = load_block(c, fd, file_id, number, &i);
		if (err)
			return err;
	}
	list_unlink(c, i);
	list_push_newest(c, i);
	*out = &c->blocks[i];
	return 0;
}

int block_cache_read(struct block_cache *c, int fd, uint64_t file_id, uint64_t offset, void *to,
		     size_t size)
{
	uint8_t *at = to;

	if (offset > INT64_MAX - BLOCK_BYTES - size)
		return -ERANGE;
	/* A bulk read would only push out what single look-ups need. */
	if (size >= BULK_BYTES) {
		ssize_t got = pread_whole(fd, to, size, offset);

		return got < 0 ? (int)got : (size_t)got == size ? 0 : -ERANGE;
	}
	while (size) {
		size_t start = offset % BLOCK_BYTES, count = BLOCK_BYTES - start;
		const struct block *b;
		int err = get_block(c, fd, file_id, offset / BLOCK_BYTES, &b);

		if (err)
			return err;
		if (count > size)
			count = size;
		/* The last block is as long as the file was when it was read. */
		if (start + count > b->size)
			return -ERANGE;
		memcpy(at, b->data + start, count);
		at += count;
		offset += count;
		size -= count;
	}
	return 0;
}

/* A walk over all slots: files close rarely. */
void block_cache_forget(struct block_cache *c, uint64_t file_id)
{
	for (uint32_t i = 0; i < c->block_count; i++) {
		struct block *b = &c->blocks[i];

		if (!b->data || b->file_id != file_id)
			continue;
		chain_remove(c, i);
		free(b->data);
		b->data = NULL;
		c->bytes -= BLOCK_BYTES;
		list_unlink(c, i);
		list_push_oldest(c, i);
	}
}

size_t block_cache_bytes(const struct block_cache *c)
{
	return c->bytes;
}
