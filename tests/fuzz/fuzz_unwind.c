/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw sample record through the unwinder, and its words through what tells those in use: alone,
 * and with the tables of a Go program that is built at the start (from the repository's root, as
 * the other targets).
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spanprof/record.h>

#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "unwind/live_stack.h"
#include "unwind/live_words.h"
#include "unwind/unwind.h"

#define FRAMES	  512 /* as far as a stack is followed */
#define ARGUMENTS 64  /* words of them that are looked at for each */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern char **environ;

static struct gobinary *binary; /* libFuzzer hands no context through */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[] = "/tmp/fuzz_unwind_XXXXXX";
	char *arguments[] = {"go", "build", "-o", path, "tests/unit/unwind_program/main.go", NULL};
	int fd = mkstemp(path), status;
	struct block_cache *cache;
	pid_t pid;

	if (fd < 0 || close(fd) || posix_spawnp(&pid, "go", NULL, NULL, arguments, environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		abort();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || block_cache_open(4 << 20, &cache) || gobinary_open(fd, cache, &binary))
		abort();
	close(fd);
	unlink(path);
	return 0;
}

/* Brings three of four addresses into the program's text, where something is to be found. */
static __u64 address(__u64 word)
{
	const struct gobinary_info *info = gobinary_get_info(binary);

	if ((word & 3) == 3)
		return word;
	return info->text_start + (word >> 2) % (info->text_end - info->text_start);
}

static void check(const struct unwound_stack *out, const struct unwind_stats *stats)
{
	if (out->count > UNWIND_FRAMES_MAX || out->kernel_count > out->count ||
	    stats->stacks != 1 || stats->truncated != out->truncated ||
	    stats->repaired > UNWIND_FRAMES_MAX * 2)
		abort();
	for (uint32_t i = 0; i < out->count; i++)
		if (out->exact[i] != 0 && out->exact[i] != 1)
			abort();
}

/* Words of one stack: each is told for the frame it lies in, and for those it is an argument of. */
struct words {
	const uint64_t *start;
	size_t count, told, frames;
};

static bool is_wanted(void *context, uint64_t word)
{
	return word & 1;
}

static void take(void *context, const struct live_word *word)
{
	struct words *w = context;

	if (!(word->word & 1) || ++w->told > w->count + FRAMES * ARGUMENTS)
		abort();
}

/* Return addresses that execute themselves are those of functions that were interrupted. */
static void enter(void *context, uint64_t pc, bool exact)
{
	struct words *w = context;

	if (++w->frames > FRAMES || (exact && w->frames == 1))
		abort();
}

/* All words of the record as one stack. */
static void look_at_words(const struct sample_record *sample, const struct unwound_stack *out)
{
	size_t count = (sample->header.size_bytes - sizeof(*sample)) / 8;
	struct words words = {.start = (const uint64_t *)sample->words, .count = count};
	const struct still_stack stack = {sample->pc, {sample->sp, sample->words, count}};
	static struct live_stack_memo memo; /* of all inputs: each finds what others left */
	struct live_stack_query query = {&words, is_wanted, take, enter, NULL};
	struct live_words live;

	live_stack_each(binary, 0, &stack, &query);
	words.told = words.frames = 0;
	query.memo = &memo;
	live_stack_each(binary, 0, &stack, &query);
	if (!out->goroutine_pc)
		return;
	live_words_begin(&live, binary, 0, out);
	for (size_t i = 0; i < count; i++)
		if ((live_words_has(&live, sample->sp + 8 * i) ||
		     live_words_has_object(&live, sample->sp + 8 * i)) &&
		    live.lost)
			abort();
}

static void unwind(const struct sample_record *sample, struct gobinary *b)
{
	static struct unwound_stack out;
	struct unwind_stats stats = {0};

	memset(&out, 0xa5, sizeof(out));
	unwind_sample(sample, b, 0, &out, &stats);
	check(&out, &stats);
	if (b && sample->header.size_bytes >= sizeof(*sample))
		look_at_words(sample, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample_record *sample;

	if (size < sizeof(*sample))
		return 0;
	/* Exactly as long as it is, so that a look beyond is seen. */
	sample = malloc(size);
	if (!sample)
		return 0;
	memcpy(sample, data, size);
	if (sample->header.size_bytes > size)
		sample->header.size_bytes = (__u32)size;
	unwind(sample, NULL);
	unwind(sample, binary);
	sample->pc = address(sample->pc);
	sample->curg_pc = address(sample->curg_pc);
	for (size_t i = 0; i < (size - sizeof(*sample)) / 8; i++)
		sample->words[i] = address(sample->words[i]);
	unwind(sample, binary);
	free(sample);
	return 0;
}
