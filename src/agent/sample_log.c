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
#include "agent/span_sights.h"
#include "base/hex.h"
#include "base/string_table.h"
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
	char digits[2 * 16 + 1];

	hex_write(bytes, size, digits);
	fprintf(f, ",\"%s\":\"%s\"", key, digits);
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

static const char *source_word(const struct sampled_span *span)
{
	static const char *const words[SPAN_SOURCE_COUNT] = {
		[SPAN_OWN] = "own",	  [SPAN_INHERITED] = "inherited",
		[SPAN_OLDER] = "older",	  [SPAN_ON_STACK] = "stack",
		[SPAN_LABELS] = "labels", [SPAN_CONTEXT_MAP] = "map",
	};

	switch (span->answer) {
	case SPAN_ANSWER_NONE:
		return "none";
	case SPAN_ANSWER_UNSAMPLED:
		return "unsampled";
	case SPAN_ANSWER_UNSETTLED:
		return "unsettled";
	case SPAN_ANSWER_SPAN:
		break;
	}
	return span->source < SPAN_SOURCE_COUNT ? words[span->source] : "unknown";
}

void sample_log_add(struct sample_log *l, const struct sample_record *sample,
		    const struct sampled_span *span, const struct location *const *locations,
		    size_t count, bool truncated)
{
	bool first = true, tagged = span->answer == SPAN_ANSWER_SPAN;
	FILE *f = l->file;

	if (l->error)
		return;
	errno = 0;
	fprintf(f,
		"{\"time_ns\":%llu,\"pid\":%u,\"tid\":%u,\"goid\":%llu,\"flags\":%u,"
		"\"truncated\":%s,\"inherited\":%s,\"source\":\"%s\"",
		sample->time_ns, sample->pid, sample->tid, sample->goid, sample->flags,
		truncated ? "true" : "false",
		tagged && span->source == SPAN_INHERITED ? "true" : "false", source_word(span));
	if (tagged) {
		put_hex(f, "trace_id", span->sight.trace_id, sizeof(span->sight.trace_id));
		put_hex(f, "span_id", span->sight.span_id, sizeof(span->sight.span_id));
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

void sample_log_add_ended(struct sample_log *l, uint32_t pid, const struct span_end *end)
{
	const struct span *span = &end->span;
	char name[4 * SPAN_SIGHT_NAME_MAX];
	FILE *f = l->file;

	if (l->error)
		return;
	errno = 0;
	string_clean(name, sizeof(name), end->name, end->name_size);
	fprintf(f, "{\"ended_span\":\"");
	put_text(f, name);
	fprintf(f, "\",\"pid\":%u,\"start_ns\":%llu,\"duration_ns\":%llu,\"status\":%u,\"kind\":%u",
		pid, (unsigned long long)span->start_wall_ns, (unsigned long long)span->duration_ns,
		span->status, span->kind);
	put_hex(f, "trace_id", span->trace_id, sizeof(span->trace_id));
	put_hex(f, "span_id", span->span_id, sizeof(span->span_id));
	put_hex(f, "parent_id", span->parent_id, sizeof(span->parent_id));
	fputs("}\n", f);
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
