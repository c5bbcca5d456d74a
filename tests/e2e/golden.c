/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw samples as the kernel side sends them, kept in files to be unwound again.
 *
 *   golden record PROGRAM PID FILE     until PID ends: its samples, whoever takes them; "ready"
 *   golden keep FILE TO                those that stdin names, "TIME_NS TID" on a line
 *   golden replay PROGRAM FILE         each as a line of JSON, as spanprof -o FILE.jsonl has it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spanprof/record.h>
#include <spanprof/target.h>

#include "agent/attach.h"
#include "capture/capture.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "symbolize/go_frames.h"
#include "unwind/unwind.h"

#define CACHE_BYTES (4 << 20)
#define RECORD_MAX  (sizeof(struct sample_record) + 8 * RECORD_WORDS_MAX)
#define INLINED_MAX 64
#define KEPT_MAX    4096

struct program {
	struct block_cache *cache;
	struct gobinary *binary;
};

static int fail(const char *what, int err)
{
	fprintf(stderr, "golden: %s: %s\n", what, strerror(err < 0 ? -err : err));
	return 1;
}

static int open_program(const char *path, struct program *p)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = block_cache_open(CACHE_BYTES, &p->cache);
	if (!err)
		err = gobinary_open(fd, p->cache, &p->binary);
	close(fd);
	return err;
}

static void close_program(struct program *p)
{
	gobinary_close(p->binary);
	block_cache_close(p->cache);
}

static void write_sample(void *file, const struct sample_record *sample)
{
	fwrite(sample, sample->header.size_bytes, 1, file);
}

static void ignore_process(void *context, const struct process_record *record)
{
}

static void ignore_span(void *context, const struct span_record *record)
{
}

static int record(struct capture *c, const struct gobinary_info *info, pid_t pid)
{
	struct target_process target = {0};
	char why[256];
	int err;

	attach_describe(info, 0, 1, &target);
	err = capture_set_process(c, pid, &target);
	if (err)
		return fail("the program", err);
	if (capture_start(c, why, sizeof(why))) {
		fprintf(stderr, "golden: %s\n", why);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (!kill(pid, 0)) {
		capture_poll(c);
		usleep(10000);
	}
	capture_stop(c);
	while (capture_poll(c) > 0)
		;
	return 0;
}

static int record_command(const char *path, const char *pid, const char *to)
{
	FILE *file = fopen(to, "w");
	struct capture_config config = {
		.frequency_hz = 1, .ring_bytes = 16 << 20, .goroutines_max = 1024};
	struct capture_handler handler = {file,		  write_sample,	  ignore_process,
					  ignore_process, ignore_process, ignore_span};
	struct program program;
	struct capture *c;
	char why[256];
	int err;

	if (!file)
		return fail(to, errno);
	err = open_program(path, &program);
	if (err)
		return fail(path, err);
	if (capture_open(&config, &handler, &c, why, sizeof(why))) {
		fprintf(stderr, "golden: %s\n", why);
		return 1;
	}
	err = record(c, gobinary_get_info(program.binary), atoi(pid));
	capture_close(c);
	close_program(&program);
	return fclose(file) ? fail(to, errno) : err;
}

/* False: the end of the file, or no record. */
static bool read_record(FILE *file, struct sample_record *to)
{
	size_t rest;

	if (fread(&to->header, sizeof(to->header), 1, file) != 1 ||
	    to->header.type != RECORD_SAMPLE || to->header.size_bytes < sizeof(*to) ||
	    to->header.size_bytes > RECORD_MAX)
		return false;
	rest = to->header.size_bytes - sizeof(to->header);
	return fread((char *)to + sizeof(to->header), rest, 1, file) == 1;
}

struct wanted {
	size_t count;
	struct {
		uint64_t time_ns;
		uint32_t tid;
	} samples[KEPT_MAX];
};

static bool is_wanted(const struct wanted *w, const struct sample_record *sample)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->samples[i].time_ns == sample->time_ns && w->samples[i].tid == sample->tid)
			return true;
	return false;
}

static int keep_command(struct sample_record *sample, const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	static struct wanted wanted;

	if (!in || !out)
		return fail(in ? to : from, errno);
	while (wanted.count < KEPT_MAX &&
	       scanf("%" SCNu64 " %" SCNu32, &wanted.samples[wanted.count].time_ns,
		     &wanted.samples[wanted.count].tid) == 2)
		wanted.count++;
	while (read_record(in, sample))
		if (is_wanted(&wanted, sample))
			write_sample(out, sample);
	fclose(in);
	return fclose(out) ? fail(to, errno) : 0;
}

static void print_frames(struct pclntab *table, uint64_t pc, bool exact, bool *first)
{
	static struct go_frame frames[INLINED_MAX];
	int count = pclntab_get_frames(table, exact ? pc : pc - 1, frames, INLINED_MAX);

	for (int i = 0; i < count && i < INLINED_MAX; i++) {
		if (!go_frame_is_shown(frames, (size_t)i))
			continue;
		printf("%s\"%s %s:%u\"", *first ? "" : ",", frames[i].function, frames[i].file,
		       frames[i].line);
		*first = false;
	}
	if (count <= 0) {
		printf("%s\"not Go :0\"", *first ? "" : ",");
		*first = false;
	}
}

static void replay(struct gobinary *binary, const struct sample_record *sample)
{
	static struct unwound_stack stack;
	struct unwind_stats stats = {0};
	bool first = true;

	unwind_sample(sample, binary, 0, &stack, &stats);
	printf("{\"time_ns\":%" PRIu64 ",\"tid\":%u,\"flags\":%u,\"truncated\":%s,\"stack\":[",
	       (uint64_t)sample->time_ns, sample->tid, sample->flags,
	       stack.truncated ? "true" : "false");
	for (uint32_t i = 0; i < stack.count; i++) {
		if (i && i == stack.gap_at)
			printf(",\"[frames left out] :0\"");
		print_frames(gobinary_get_pclntab(binary), stack.pcs[i], stack.exact[i], &first);
	}
	puts("]}");
}

static int replay_command(struct sample_record *sample, const char *path, const char *from)
{
	FILE *in = fopen(from, "r");
	struct program program;
	int err = open_program(path, &program);

	if (!in || err)
		return fail(err ? path : from, err ? err : errno);
	while (read_record(in, sample))
		replay(program.binary, sample);
	fclose(in);
	close_program(&program);
	return 0;
}

int main(int argc, char **argv)
{
	struct sample_record *sample = calloc(1, RECORD_MAX);
	int status = 2;

	if (!sample)
		return 1;
	if (argc == 5 && !strcmp(argv[1], "record"))
		status = record_command(argv[2], argv[3], argv[4]);
	else if (argc == 4 && !strcmp(argv[1], "keep"))
		status = keep_command(sample, argv[2], argv[3]);
	else if (argc == 4 && !strcmp(argv[1], "replay"))
		status = replay_command(sample, argv[2], argv[3]);
	else
		fputs("usage: golden record PROGRAM PID FILE | keep FILE TO | replay PROGRAM "
		      "FILE\n",
		      stderr);
	free(sample);
	return status;
}
