/* SPDX-License-Identifier: Apache-2.0 */
/* gobinary's plain structure → the kernel's, and probe kinds → programs. */
#include "agent/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "gobinary/go_version.h"
#include "gobinary/gobinary.h"

static void describe_runtime(const struct gobinary_info *info, struct target_process *out)
{
	const struct go_runtime_offsets *r = &info->runtime;

	out->tls_offset = info->tls_offset;
	out->g_m = r->g_m;
	out->g_goid = r->g_goid;
	out->g_stack_hi = r->g_stack_hi;
	out->g_sched_sp = r->g_sched_sp;
	out->g_sched_pc = r->g_sched_pc;
	out->g_sched_bp = r->g_sched_bp;
	out->g_syscall_sp = r->g_syscall_sp;
	out->g_syscall_pc = r->g_syscall_pc;
	out->g_syscall_bp = r->g_syscall_bp;
	out->g_labels = r->g_labels;
	out->m_curg = r->m_curg;
	out->m_vdso_sp = r->m_vdso_sp;
}

/* A field of recordingSpan, and where its place in the window goes. */
struct window_field {
	uint32_t offset, size;
	bool known;
	uint8_t *place;
};

/* The bytes from the first to behind the last known field; in `*start` where they begin. */
static uint32_t measure_fields(const struct window_field *fields, size_t count, uint32_t *start)
{
	uint32_t end = 0;

	*start = UINT32_MAX;
	for (size_t i = 0; i < count; i++) {
		if (!fields[i].known)
			continue;
		if (fields[i].offset < *start)
			*start = fields[i].offset;
		if (fields[i].offset + fields[i].size > end)
			end = fields[i].offset + fields[i].size;
	}
	return end - *start;
}

/*
 * Chooses the bytes of a span that the kernel side reads at once: all fields, or, where they lie
 * too far apart, those that it cannot do without. False: not even those.
 */
static bool describe_span(const struct go_span_offsets *s, struct target_span *out)
{
	struct window_field fields[] = {
		{s->context + s->context_trace_id, 16, true, &out->trace_id},
		{s->context + s->context_span_id, 8, true, &out->span_id},
		{s->context + s->context_flags, 1, true, &out->trace_flags},
		{s->name, 16, true, &out->name},
		{s->start_time, 16, true, &out->start_time},
		{s->end_time, 16, true, &out->end_time},
		{s->parent + s->context_span_id, 8, s->parent, &out->parent_id},
		{s->status, 4, s->status, &out->status},
		{s->kind, 8, s->kind, &out->kind},
	};
	const size_t count = sizeof(fields) / sizeof(*fields), needed = 6;
	uint32_t start;

	if (measure_fields(fields, count, &start) > TARGET_SPAN_WINDOW) {
		for (size_t i = needed; i < count; i++)
			fields[i].known = false;
		if (measure_fields(fields, count, &start) > TARGET_SPAN_WINDOW)
			return false;
	}
	out->window = (uint16_t)start;
	for (size_t i = 0; i < count; i++)
		*fields[i].place = fields[i].known ? (uint8_t)(fields[i].offset - start)
						   : TARGET_SPAN_NO_FIELD;
	out->unsampled_trace_id = (uint8_t)(s->unsampled_context + s->context_trace_id);
	return true;
}

/* Interface tables by which contexts show on a stack; none: no stack is looked at. */
static void describe_itabs(const struct go_itabs *itabs, uint64_t bias, struct target_itabs *out)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < itabs->context_count; i++) {
		low = itabs->context[i] < low ? itabs->context[i] : low;
		high = itabs->context[i] > high ? itabs->context[i] : high;
	}
	if (!high)
		return;
	out->start = low + bias;
	out->end = high + 1 + bias;
	out->span = itabs->span_count ? itabs->span[0] + bias : 0;
}

/*
 * Best first. The call of context.WithValue tells of spans that are sampled out, too. runtimeTrace
 * comes second though it is one for recorded spans alone: there an outer span of another trace
 * would be taken for the one that is sampled out. The return of Start is single-stepped.
 */
static const struct {
	enum go_probe_kind site;
	enum capture_probe_kind kind;
	bool needs_type, recorded_only;
	const char *words;
} starts[] = {
	{GO_PROBE_WITH_VALUE, CAPTURE_PROBE_WITH_VALUE, true, false,
	 "context.WithValue in tracer.Start"},
	{GO_PROBE_RUNTIME_TRACE, CAPTURE_PROBE_RUNTIME_TRACE, false, true,
	 "recordingSpan.runtimeTrace"},
	{GO_PROBE_TRACER_START_RET, CAPTURE_PROBE_START_RETURN, true, false,
	 "the return of tracer.Start"},
};
#define START_COUNT (sizeof(starts) / sizeof(*starts))

static bool has_start(const struct gobinary_info *info, size_t index)
{
	return info->probes[starts[index].site].present &&
	       (!starts[index].needs_type || info->span_type);
}

/* Its index in `starts`; START_COUNT: none. */
static size_t find_start(const struct gobinary_info *info, const struct attach_choice *choice)
{
	size_t found = START_COUNT;
	unsigned present = 0;

	for (size_t i = 0; i < START_COUNT; i++) {
		if (!has_start(info, i) || present++ < choice->skip)
			continue;
		if (choice->recorded_only && starts[i].recorded_only)
			return i;
		if (found == START_COUNT)
			found = i;
	}
	return found;
}

unsigned attach_count_starts(const struct gobinary_info *info)
{
	unsigned count = 0;

	for (size_t i = 0; i < START_COUNT; i++)
		count += has_start(info, i);
	return count;
}

bool attach_has_start(const struct gobinary_info *info)
{
	struct target_span unused;

	return info->has_sdk && info->tls_known && attach_count_starts(info) &&
	       describe_span(&info->span, &unused);
}

void attach_describe(const struct gobinary_info *info, uint64_t bias, uint32_t generation,
		     struct target_process *out)
{
	memset(out, 0, sizeof(*out));
	out->generation = generation;
	if (info->tls_known)
		out->flags |= TARGET_GO;
	if (attach_has_start(info))
		out->flags |= TARGET_SPANS;
	if (info->cgo)
		out->flags |= TARGET_CGO;
	if (info->probes[GO_PROBE_RUNTIME_TRACE].on_branch)
		out->flags |= TARGET_START_ON_BRANCH;
	describe_runtime(info, out);
	if (go_version_minor(info->go_version) >= 0 && go_version_minor(info->go_version) < 24)
		out->flags |= TARGET_LABELS_MAP;
	if (info->frameless_callers)
		out->flags |= TARGET_FRAMELESS_CALLERS;
	describe_span(&info->span, &out->span);
	describe_itabs(&info->itabs, bias, &out->itabs);
	out->type_mask = UINT64_MAX;
	out->span_type = info->span_type ? info->span_type + bias : UINT64_MAX;
	out->unsampled_type = info->unsampled_type ? info->unsampled_type + bias : UINT64_MAX;
	out->text_start = info->text_start + bias;
	out->text_end = info->text_end + bias;
	out->signal_entries[0].start = info->sigtramp.start + bias;
	out->signal_entries[0].end = info->sigtramp.end + bias;
	out->signal_entries[1].start = info->cgo_sigtramp.start + bias;
	out->signal_entries[1].end = info->cgo_sigtramp.end + bias;
	out->signal_return.start = info->sigreturn.start + bias;
	out->signal_return.end = info->sigreturn.end + bias;
	for (size_t i = 0; i < info->top_frame_count && i < TARGET_TOP_FRAMES; i++) {
		out->top_frames[i].start = info->top_frames[i].start + bias;
		out->top_frames[i].end = info->top_frames[i].end + bias;
	}
}

void attach_forget_addresses(struct target_process *description)
{
	description->type_mask = 0xfff; /* images are moved by whole pages */
	memset(&description->itabs, 0, sizeof(description->itabs));
	description->text_start = description->text_end = 0;
	memset(description->signal_entries, 0, sizeof(description->signal_entries));
	memset(&description->signal_return, 0, sizeof(description->signal_return));
	memset(description->top_frames, 0, sizeof(description->top_frames));
}

int attach_start(struct capture *c, const struct gobinary_info *info,
		 const struct attach_choice *choice, pid_t pid, const char *path, int *probe,
		 char *why, size_t why_size)
{
	size_t start = find_start(info, choice);

	if (start == START_COUNT)
		return -ENOENT;
	return capture_attach(c, starts[start].kind, pid, path,
			      info->probes[starts[start].site].file_offset, probe, why, why_size);
}

const char *attach_start_words(const struct gobinary_info *info, const struct attach_choice *choice)
{
	size_t start = find_start(info, choice);

	return start == START_COUNT ? "none" : starts[start].words;
}

int attach_newproc(struct capture *c, const struct gobinary_info *info, pid_t pid, const char *path,
		   int *probe, char *why, size_t why_size)
{
	const struct go_probe_site *site = &info->probes[GO_PROBE_NEWPROC_RUNQPUT];

	if (!site->present)
		return -ENOENT;
	return capture_attach(c, CAPTURE_PROBE_NEWPROC, pid, path, site->file_offset, probe, why,
			      why_size);
}

void attach_describe_words(const struct gobinary_info *info, char *to, size_t size)
{
	static const char *const sources[] = {"the binary's own types", "a built-in table",
					      "the newest known version"};
	const struct attach_choice best = {0};
	const char *point = attach_start_words(info, &best);

	if (!info->has_sdk) {
		snprintf(to, size, "%s%s%s, no OpenTelemetry SDK",
			 info->go_version[0] ? info->go_version : "Go (version unknown)",
			 info->stripped ? ", stripped" : "", info->pie ? ", PIE" : "");
		return;
	}
	snprintf(to, size, "%s%s%s, OpenTelemetry SDK %s, span starts seen at %s, offsets from %s",
		 info->go_version[0] ? info->go_version : "Go (version unknown)",
		 info->stripped ? ", stripped" : "", info->pie ? ", PIE" : "",
		 info->sdk_version[0] ? info->sdk_version : "(version unknown)", point,
		 sources[info->span.source]);
}
