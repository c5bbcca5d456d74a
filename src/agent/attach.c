/* SPDX-License-Identifier: Apache-2.0 */
/* gobinary's plain structure → the kernel's, and probe kinds → programs. */
#include "agent/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
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
	out->m_curg = r->m_curg;
}

static const struct go_probe_site *start_site(const struct gobinary_info *info,
					      enum capture_probe_kind *kind)
{
	const struct go_probe_site *trace = &info->probes[GO_PROBE_RUNTIME_TRACE];
	const struct go_probe_site *value = &info->probes[GO_PROBE_WITH_VALUE];

	if (trace->present) {
		*kind = CAPTURE_PROBE_RUNTIME_TRACE;
		return trace;
	}
	if (value->present && info->span_type) {
		*kind = CAPTURE_PROBE_WITH_VALUE;
		return value;
	}
	return NULL;
}

bool attach_has_start(const struct gobinary_info *info)
{
	enum capture_probe_kind kind;

	return info->has_sdk && info->tls_known && start_site(info, &kind);
}

void attach_describe(const struct gobinary_info *info, uint64_t bias, uint32_t generation,
		     struct target_process *out)
{
	enum capture_probe_kind kind;
	const struct go_probe_site *start = start_site(info, &kind);

	memset(out, 0, sizeof(*out));
	out->generation = generation;
	if (info->tls_known)
		out->flags |= TARGET_GO;
	if (attach_has_start(info))
		out->flags |= TARGET_SPANS;
	if (info->cgo)
		out->flags |= TARGET_CGO;
	if (start && start->on_branch)
		out->flags |= TARGET_START_ON_BRANCH;
	describe_runtime(info, out);
	out->span_context = info->span.context;
	out->span_end_time = info->span.end_time;
	out->span_name = info->span.name;
	out->context_trace_id = info->span.context_trace_id;
	out->context_span_id = info->span.context_span_id;
	out->context_flags = info->span.context_flags;
	out->span_type = info->span_type ? info->span_type + bias : 0;
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
	description->span_type = 0;
	description->text_start = description->text_end = 0;
	memset(description->signal_entries, 0, sizeof(description->signal_entries));
	memset(&description->signal_return, 0, sizeof(description->signal_return));
	memset(description->top_frames, 0, sizeof(description->top_frames));
}

int attach_start(struct capture *c, const struct gobinary_info *info, pid_t pid, const char *path,
		 int *probe, char *why, size_t why_size)
{
	enum capture_probe_kind kind;
	const struct go_probe_site *site = start_site(info, &kind);

	if (!site)
		return -ENOENT;
	return capture_attach(c, kind, pid, path, site->file_offset, probe, why, why_size);
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
	enum capture_probe_kind kind;
	const char *point = "none";

	if (start_site(info, &kind))
		point = kind == CAPTURE_PROBE_RUNTIME_TRACE ? "recordingSpan.runtimeTrace"
							    : "context.WithValue in tracer.Start";
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
