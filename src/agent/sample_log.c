/* SPDX-License-Identifier: Apache-2.0 */
/* Plain JSON by hand: one flat object a line, strings already free of control characters. */
#include "agent/sample_log.h"

#include <errno.h>
#include <limits.h>
#include <spanprof/record.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/output.h"
#include "base/location.h"

struct sample_log {
	FILE *file;
	int error; /* the first of writing: stdio only keeps that there was one */
	char path[PATH_MAX];
	char temporary[PATH_MAX]; /* "" once it is in place */
};

int sample_log_open(const char *path, struct sample_log **out)
{
	struct sample_log *l = calloc(1, sizeof(*l));
	int fd, error;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	snprintf(l->path, sizeof(l->path), "%s", path);
	fd = output_open_temporary(path, l->temporary, sizeof(l->temporary));
	if (fd < 0) {
		free(l);
		return fd;
	}
	l->file = fdopen(fd, "w");
	if (!l->file) {
		error = -errno;
		close(fd);
		unlink(l->temporary);
		free(l);
		return error;
	}
	*out = l;
	return 0;
}

/* The inside of a JSON string. */
static void put_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', f);
		putc(*text, f);
	}
}

static void put_hex(FILE *f, const char *key, const uint8_t *bytes, size_t size)
{
	fprintf(f, ",\"%s\":\"", key);
	for (size_t i = 0; i < size; i++)
		fprintf(f, "%02x", bytes[i]);
	putc('"', f);
}

/*
 * "function file:line", one for each inlined call and one for the function that holds the code.
 * Piece by piece: the name of a generic function has no useful bound.
 */
static void put_frames(FILE *f, const struct location *location, bool *first)
{
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const struct frame *frame = &location->frames[i];

		fputs(*first ? "\"" : ",\"", f);
		*first = false;
		put_text(f, frame->function);
		putc(' ', f);
		put_text(f, frame->file);
		fprintf(f, ":%u\"", frame->line);
	}
}

void sample_log_add(struct sample_log *l, const struct sample_record *sample,
		    const struct location *const *locations, size_t count, bool truncated)
{
	bool first = true;
	FILE *f = l->file;

	if (l->error)
		return;
	errno = 0;
	fprintf(f,
		"{\"time_ns\":%llu,\"pid\":%u,\"tid\":%u,\"goid\":%llu,\"flags\":%u,"
		"\"truncated\":%s,\"inherited\":%s",
		sample->time_ns, sample->pid, sample->tid, sample->goid, sample->flags,
		truncated ? "true" : "false",
		sample->flags & SAMPLE_SPAN_INHERITED ? "true" : "false");
	if (sample->flags & SAMPLE_SPAN) {
		put_hex(f, "trace_id", sample->span.trace_id, sizeof(sample->span.trace_id));
		put_hex(f, "span_id", sample->span.span_id, sizeof(sample->span.span_id));
	} else {
		fputs(",\"trace_id\":\"\",\"span_id\":\"\"", f);
	}
	fputs(",\"stack\":[", f);
	for (size_t i = 0; i < count; i++)
		put_frames(f, locations[i], &first);
	fputs("]}\n", f);
	if (ferror(f))
		l->error = errno ? -errno : -EIO;
}

const char *sample_log_get_path(const struct sample_log *l)
{
	return l->path;
}

int sample_log_commit(struct sample_log *l)
{
	int error = l->error;

	if (fclose(l->file) && !error)
		error = -errno;
	l->file = NULL;
	if (!error && rename(l->temporary, l->path))
		error = -errno;
	if (!error)
		l->temporary[0] = '\0';
	return error;
}

void sample_log_close(struct sample_log *l)
{
	if (!l)
		return;
	if (l->file)
		fclose(l->file);
	if (l->temporary[0])
		unlink(l->temporary);
	free(l);
}
