/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols FILE ROUNDS COUNT: reads a Go executable so often, then looks up so many addresses of its
 * text, picked at random. Prints "cold MS", "warm MS" (of each round), "own BYTES" (of the heap,
 * without the block cache, when it is open), "lookups NS" (each, names, lines and inlined calls),
 * "frames COUNT" and the addresses, "pc HEX".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"

#define CACHE_BYTES (1 << 20)
#define FRAMES_MAX  32

static double ms_since(uint64_t begin_ns)
{
	return (double)(clock_monotonic_ns() - begin_ns) / 1e6;
}

/* ms; below 0: it cannot be read. */
static double open_once(int fd, struct block_cache **cache, struct gobinary **binary)
{
	uint64_t begin_ns = clock_monotonic_ns();

	return block_cache_open(CACHE_BYTES, cache) || gobinary_open(fd, *cache, binary)
		       ? -1
		       : ms_since(begin_ns);
}

static void close_both(struct block_cache *cache, struct gobinary *binary)
{
	gobinary_close(binary);
	block_cache_close(cache);
}

static size_t look_up(struct gobinary *binary, const uint64_t *pcs, size_t count)
{
	static struct go_frame frames[FRAMES_MAX];
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		int n = pclntab_get_frames(gobinary_get_pclntab(binary), pcs[i], frames,
					   FRAMES_MAX);

		found += n > 0 ? (size_t)n : 0;
	}
	return found;
}

static void pick(const struct gobinary_info *info, uint64_t *pcs, size_t count)
{
	uint64_t x = 88172645463325252ull;

	for (size_t i = 0; i < count; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		pcs[i] = info->text_start + x % (info->text_end - info->text_start);
	}
}

int main(int argc, char **argv)
{
	int fd = argc == 4 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int rounds = argc == 4 ? atoi(argv[2]) : 0;
	size_t count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0, before;
	struct block_cache *cache;
	struct gobinary *binary;
	uint64_t *pcs, begin_ns;
	double ms;

	if (fd < 0 || rounds < 1 || !count)
		return 2;
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	for (int i = 0; i <= rounds; i++) {
		before = mallinfo2().uordblks + mallinfo2().hblkhd;
		ms = open_once(fd, &cache, &binary);
		if (ms < 0)
			return 1;
		printf("%s %.3f\n", i ? "warm" : "cold", ms);
		if (i < rounds)
			close_both(cache, binary);
	}
	printf("own %zu\n",
	       mallinfo2().uordblks + mallinfo2().hblkhd - before - block_cache_bytes(cache));
	pcs = calloc(count, sizeof(*pcs));
	if (!pcs)
		return 1;
	pick(gobinary_get_info(binary), pcs, count);
	look_up(binary, pcs, count / 10);
	begin_ns = clock_monotonic_ns();
	printf("frames %zu\n", look_up(binary, pcs, count));
	printf("lookups %.1f\n", ms_since(begin_ns) * 1e6 / (double)count);
	for (size_t i = 0; i < count; i++)
		printf("pc %" PRIx64 "\n", pcs[i]);
	close_both(cache, binary);
	free(pcs);
	return 0;
}
