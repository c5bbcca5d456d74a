/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole Go executable through gobinary_open, then look-ups in it. The seeds are the programs
 * that tests/unit/go_program.h makes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct gobinary_info *i, size_t size)
{
	for (size_t k = 0; k < GO_PROBE_KIND_COUNT; k++)
		if (i->probes[k].present && i->probes[k].file_offset >= size)
			abort();
	if (i->top_frame_count > sizeof(i->top_frames) / sizeof(*i->top_frames) ||
	    i->text_start >= i->text_end)
		abort();
	if (i->itabs.span_count > GO_SPAN_ITABS_MAX ||
	    i->itabs.context_count > GO_CONTEXT_ITABS_MAX ||
	    (i->itabs.span_count && !i->span_type) || i->allgs & 7 ||
	    i->resource.global_count > GO_GLOBALS_MAX)
		abort();
	if (!memchr(i->go_version, 0, sizeof(i->go_version)) ||
	    !memchr(i->build_id_go, 0, sizeof(i->build_id_go)))
		abort();
}

static void look_up(struct gobinary *b)
{
	const struct gobinary_info *i = gobinary_get_info(b);
	static struct go_frame frames[8];
	uint64_t step = (i->text_end - i->text_start) / 16 + 1;

	for (uint64_t at = i->text_start, n = 0; n < 16; at += step, n++) {
		int32_t delta;

		pclntab_get_frames(gobinary_get_pclntab(b), at, frames, 8);
		pclntab_get_sp_delta(gobinary_get_pclntab(b), at, &delta);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct block_cache *cache;
	struct gobinary *b;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || block_cache_open(1 << 18, &cache))
		abort();
	if (!gobinary_open(fd, cache, &b)) {
		check(gobinary_get_info(b), size);
		look_up(b);
		gobinary_close(b);
	}
	block_cache_close(cache);
	close(fd);
	return 0;
}
