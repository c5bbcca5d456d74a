/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what gobinary says about an executable as lines of key=value, for layout.sh. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "gobinary/runtime_layout.h"
#include "gobinary/span_layout.h"

#define CACHE_BYTES (2 << 20)

static const char *const sources[] = {"rtypes", "table", "newest"};
static const char *const probes[GO_PROBE_KIND_COUNT] = {
	[GO_PROBE_RUNTIME_TRACE] = "runtime_trace", [GO_PROBE_WITH_VALUE] = "with_value",
	[GO_PROBE_NEW_RECORDING] = "new_recording", [GO_PROBE_NEWPROC_RUNQPUT] = "newproc_runqput",
	[GO_PROBE_TRACER_START_RET] = "start_ret",
};

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void print_build(const struct gobinary_info *i)
{
	printf("build.go=%s\nbuild.path=%s\nbuild.version=%s\nbuild.revision=%s\nbuild.sdk=%s\n",
	       i->go_version, i->main_path, i->module_version, i->vcs_revision, i->sdk_version);
	printf("build.id=%s\nbuild.gnu_id=%s\n", i->build_id_go, i->build_id_gnu);
	printf("file.stripped=%d\nfile.pie=%d\nfile.cgo=%d\nfile.sdk=%d\n", i->stripped, i->pie,
	       i->cgo, i->has_sdk);
	printf("file.text=%#" PRIx64 "-%#" PRIx64 "\n", i->text_start, i->text_end);
	if (i->tls_known)
		printf("tls.offset=%d\n", i->tls_offset);
}

static void print_offsets(const char *at, const struct go_runtime_offsets *r,
			  const struct go_span_offsets *s)
{
	const struct {
		const char *name;
		uint16_t value;
	} rows[] = {
		{"runtime.g_m", r->g_m},
		{"runtime.g_goid", r->g_goid},
		{"runtime.g_stack_hi", r->g_stack_hi},
		{"runtime.g_status", r->g_status},
		{"runtime.g_labels", r->g_labels},
		{"runtime.g_sched_sp", r->g_sched_sp},
		{"runtime.g_sched_pc", r->g_sched_pc},
		{"runtime.g_sched_bp", r->g_sched_bp},
		{"runtime.g_syscall_sp", r->g_syscall_sp},
		{"runtime.g_syscall_pc", r->g_syscall_pc},
		{"runtime.g_syscall_bp", r->g_syscall_bp},
		{"runtime.g_wait_reason", r->g_wait_reason},
		{"runtime.m_curg", r->m_curg},
		{"runtime.m_thread", r->m_thread},
		{"span.context", s->context},
		{"span.parent", s->parent},
		{"span.name", s->name},
		{"span.start_time", s->start_time},
		{"span.end_time", s->end_time},
		{"span.status", s->status},
		{"span.kind", s->kind},
		{"span.context_trace_id", s->context_trace_id},
		{"span.context_span_id", s->context_span_id},
		{"span.context_flags", s->context_flags},
		{"span.unsampled_context", s->unsampled_context},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		printf("%s%s=%d\n", at, rows[i].name, rows[i].value);
}

/* What the built-in tables have for its versions, for a file whose types cannot be read. */
static void print_tables(const struct gobinary_info *i)
{
	struct go_runtime_offsets r;
	struct go_span_offsets s;

	runtime_layout_find(NULL, 0, 0, i->go_version, &r);
	span_layout_find(NULL, 0, 0, i->sdk_version, &s);
	printf("table.source.runtime=%s\ntable.source.span=%s\n", sources[r.source],
	       sources[s.source]);
	print_offsets("table.", &r, &s);
}

static void print_resource(const struct go_resource_layout *r)
{
	printf("resource.tracer=%d\nresource.provider=%d\nresource.resource=%d\nresource.set=%d\n",
	       r->tracer, r->provider, r->resource, r->set);
	printf("resource.key=%d\nresource.value_type=%d\nresource.value_text=%d\n", r->key,
	       r->value_type, r->value_text);
	printf("resource.pair_size=%d\nresource.pair_type=%#" PRIx64 "\n", r->pair_size,
	       r->pair_type);
	printf("resource.provider_type=%#" PRIx64 "\nholder.type=%#" PRIx64 "\n", r->provider_type,
	       r->holder_type);
	for (size_t i = 0; i < r->global_count; i++)
		printf("holder.global=%#" PRIx64 "\n", r->globals[i]);
}

static void print_types(const struct gobinary_info *i)
{
	printf("source.runtime=%s\nsource.span=%s\n", sources[i->runtime.source],
	       sources[i->span.source]);
	print_offsets("", &i->runtime, &i->span);
	printf("span.type=%#" PRIx64 "\nspan.unsampled_type=%#" PRIx64 "\n", i->span_type,
	       i->unsampled_type);
	print_resource(&i->resource);
}

static void print_itabs(const struct gobinary_info *i)
{
	printf("allgs=%#" PRIx64 "\n", i->allgs);
	for (size_t k = 0; k < i->itabs.span_count; k++)
		printf("itab.span=%#" PRIx64 "\n", i->itabs.span[k]);
	for (size_t k = 0; k < i->itabs.context_count; k++)
		printf("itab.context=%#" PRIx64 "\n", i->itabs.context[k]);
}

static void print_reasons(const struct gobinary *b)
{
	const char *name;
	uint8_t count = 0;

	while ((name = gobinary_get_wait_reason(b, count)))
		printf("reason.%d=%s\n", count++, name);
	printf("reason.count=%d\n", count);
}

static void print_range(const char *name, uint64_t start, uint64_t end)
{
	printf("range.%s=%#" PRIx64 "-%#" PRIx64 "\n", name, start, end);
}

static void print_places(const struct gobinary_info *i)
{
	for (size_t k = 0; k < GO_PROBE_KIND_COUNT; k++)
		if (i->probes[k].present)
			printf("probe.%s=%#" PRIx64 " %#" PRIx64 " %s\n", probes[k],
			       i->probes[k].address, i->probes[k].file_offset,
			       i->probes[k].on_branch ? "branch" : "plain");
	for (size_t k = 0; k < i->top_frame_count; k++)
		printf("top=%#" PRIx64 "-%#" PRIx64 "\n", i->top_frames[k].start,
		       i->top_frames[k].end);
	print_range("systemstack", i->systemstack.start, i->systemstack.end);
	print_range("mcall", i->mcall.start, i->mcall.end);
	print_range("morestack", i->morestack.start, i->morestack.end);
	print_range("asmcgocall", i->asmcgocall.start, i->asmcgocall.end);
	print_range("cgocallback", i->cgocallback.start, i->cgocallback.end);
	print_range("sigtramp", i->sigtramp.start, i->sigtramp.end);
	print_range("goexit", i->goexit.start, i->goexit.end);
}

static void least(double *best, double value)
{
	if (value < *best)
		*best = value;
}

/* The second argument, a count, opens the file so many times and prints the best times. */
int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	struct block_cache *cache = NULL;
	struct gobinary *b = NULL;
	double elapsed_ms = 1e9, cpu_ms = 1e9;
	struct rusage usage;
	int err = fd < 0 ? -errno : block_cache_open(CACHE_BYTES, &cache);

	for (int i = 0; !err && i < rounds; i++) {
		double begin_ms, begin_cpu_ms;

		gobinary_close(b);
		b = NULL;
		begin_ms = now_ms(CLOCK_MONOTONIC);
		begin_cpu_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID);
		err = gobinary_open(fd, cache, &b);
		least(&elapsed_ms, now_ms(CLOCK_MONOTONIC) - begin_ms);
		least(&cpu_ms, now_ms(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu_ms);
	}
	if (err) {
		fprintf(stderr, "gobinary_print: %s: %s\n", argc > 1 ? argv[1] : "no file",
			strerror(-err));
		return 1;
	}
	print_build(gobinary_get_info(b));
	print_types(gobinary_get_info(b));
	print_tables(gobinary_get_info(b));
	print_itabs(gobinary_get_info(b));
	print_reasons(b);
	print_places(gobinary_get_info(b));
	getrusage(RUSAGE_SELF, &usage);
	printf("cost.open_ms=%.2f\ncost.open_cpu_ms=%.2f\ncost.max_rss_kib=%ld\n", elapsed_ms,
	       cpu_ms, usage.ru_maxrss);
	gobinary_close(b);
	block_cache_close(cache);
	close(fd);
	return 0;
}
