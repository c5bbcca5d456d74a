/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets in g, m and recordingSpan: from descriptors, and from the tables where those are gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "go_types.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/go_version.h"
#include "gobinary/runtime_layout.h"
#include "gobinary/span_layout.h"

static void test_go_version(void **state)
{
	assert_int_equal(go_version_minor("go1.26.8"), 26);
	assert_int_equal(go_version_minor("go1.27rc1"), 27);
	assert_int_equal(go_version_minor("devel go1.28-0a1b2c Mon Nov 2"), 28);
	assert_int_equal(go_version_minor("v1.47.0"), 47);
	assert_int_equal(go_version_minor("v1.3.0-rc.1"), 3);
	assert_int_equal(go_version_minor("1.20"), 20);
	assert_int_equal(go_version_minor(""), -1);
	assert_int_equal(go_version_minor("v0.20.0"), -1);
	assert_int_equal(go_version_minor("go1."), -1);
	assert_int_equal(go_version_minor("devel +0a1b2c"), -1);
	assert_int_equal(go_version_minor("go1.99999999999999999999"), 99999);
}

struct runtime_row {
	const char *version;
	enum go_offsets_source source;
	uint16_t goid, status, labels, bp, syscall_sp, syscall_bp, reason, curg, thread;
};

static void test_runtime_table(void **state)
{
	const struct runtime_row rows[] = {
		{"go1.17.13", GO_OFFSETS_TABLE, 152, 144, 360, 104, 112, 0, 176, 192, 72},
		{"go1.20.14", GO_OFFSETS_TABLE, 152, 144, 360, 104, 112, 0, 176, 192, 72},
		{"go1.21.13", GO_OFFSETS_TABLE, 152, 144, 344, 104, 112, 0, 176, 192, 72},
		{"go1.22.12", GO_OFFSETS_TABLE, 152, 144, 344, 104, 112, 0, 176, 192, 72},
		{"go1.23.0", GO_OFFSETS_TABLE, 160, 152, 352, 104, 112, 128, 184, 192, 72},
		{"go1.24.11", GO_OFFSETS_TABLE, 160, 152, 352, 104, 112, 128, 184, 192, 72},
		{"go1.25.5", GO_OFFSETS_TABLE, 152, 144, 344, 96, 104, 120, 176, 184, 64},
		{"go1.26.8", GO_OFFSETS_TABLE, 152, 144, 352, 96, 104, 120, 176, 184, 64},
		{"go1.27.3", GO_OFFSETS_TABLE, 152, 144, 352, 96, 104, 120, 176, 184, 64},
		{"go1.28.0", GO_OFFSETS_NEWEST, 152, 144, 352, 96, 104, 120, 176, 184, 64},
		{"", GO_OFFSETS_NEWEST, 152, 144, 352, 96, 104, 120, 176, 184, 64},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct runtime_row *r = &rows[i];
		struct go_runtime_offsets o;

		runtime_layout_find(NULL, 0, 0, r->version, &o);
		assert_int_equal(o.source, r->source);
		assert_int_equal(o.g_m, 48);
		assert_int_equal(o.g_goid, r->goid);
		assert_int_equal(o.g_stack_hi, 8);
		assert_int_equal(o.g_status, r->status);
		assert_int_equal(o.g_labels, r->labels);
		assert_int_equal(o.g_sched_sp, 56);
		assert_int_equal(o.g_sched_pc, 64);
		assert_int_equal(o.g_sched_bp, r->bp);
		assert_int_equal(o.g_syscall_sp, r->syscall_sp);
		assert_int_equal(o.g_syscall_pc, r->syscall_sp + 8);
		assert_int_equal(o.g_syscall_bp, r->syscall_bp);
		assert_int_equal(o.g_wait_reason, r->reason);
		assert_int_equal(o.m_curg, r->curg);
		assert_int_equal(o.m_thread, r->thread);
	}
}

static void test_span_table(void **state)
{
	const struct {
		const char *version;
		enum go_offsets_source source;
		uint16_t context, unsampled, parent, kind, name, start, end, status;
	} rows[] = {
		{"v1.0.1", GO_OFFSETS_TABLE, 232, 8, 8, 72, 80, 96, 120, 144},
		{"v1.3.0", GO_OFFSETS_TABLE, 232, 8, 8, 72, 80, 96, 120, 144},
		{"v1.4.0", GO_OFFSETS_TABLE, 176, 8, 8, 72, 80, 96, 120, 144},
		{"v1.7.0", GO_OFFSETS_TABLE, 176, 8, 8, 72, 80, 96, 120, 144},
		{"v1.19.0", GO_OFFSETS_TABLE, 176, 8, 8, 72, 80, 96, 120, 144},
		{"v1.20.0", GO_OFFSETS_TABLE, 192, 24, 24, 88, 96, 112, 136, 160},
		{"v1.47.0", GO_OFFSETS_TABLE, 192, 24, 24, 88, 96, 112, 136, 160},
		{"v1.60.0", GO_OFFSETS_NEWEST, 192, 24, 24, 88, 96, 112, 136, 160},
		{"", GO_OFFSETS_NEWEST, 192, 24, 24, 88, 96, 112, 136, 160},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct go_span_offsets o;

		span_layout_find(NULL, 0, 0, rows[i].version, &o);
		assert_int_equal(o.source, rows[i].source);
		assert_int_equal(o.context, rows[i].context);
		assert_int_equal(o.unsampled_context, rows[i].unsampled);
		assert_int_equal(o.parent, rows[i].parent);
		assert_int_equal(o.kind, rows[i].kind);
		assert_int_equal(o.name, rows[i].name);
		assert_int_equal(o.start_time, rows[i].start);
		assert_int_equal(o.end_time, rows[i].end);
		assert_int_equal(o.status, rows[i].status);
		assert_int_equal(o.context_trace_id, 0);
		assert_int_equal(o.context_span_id, 16);
		assert_int_equal(o.context_flags, 24);
	}
}

static void find(uint64_t bp, bool lacking, struct go_runtime_offsets *runtime,
		 struct go_span_offsets *span)
{
	static struct go_image m;
	struct block_cache *cache;
	struct elf_image *image;
	struct go_types t;
	int fd;

	go_image_open(&m, true);
	go_types_add(&m, "sdk/trace", bp, lacking, &t);
	go_image_put_dynamic(&m);
	fd = go_image_file(&m);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	runtime_layout_find(image, t.g, t.m, "go1.24.1", runtime);
	span_layout_find(image, t.span, t.unsampled, "v1.28.0", span);
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
}

static void check_runtime(const struct go_runtime_offsets *r)
{
	assert_int_equal(r->source, GO_OFFSETS_RTYPES);
	assert_int_equal(r->g_stack_hi, 40);
	assert_int_equal(r->g_m, 64);
	assert_int_equal(r->g_sched_sp, 88);
	assert_int_equal(r->g_sched_pc, 96);
	assert_int_equal(r->g_sched_bp, 128);
	assert_int_equal(r->g_syscall_sp, 160);
	assert_int_equal(r->g_syscall_pc, 168);
	assert_int_equal(r->g_goid, 240);
	assert_int_equal(r->m_curg, 208);
}

static void check_span(const struct go_span_offsets *s)
{
	assert_int_equal(s->source, GO_OFFSETS_RTYPES);
	assert_int_equal(s->context, 208);
	assert_int_equal(s->end_time, 152);
	assert_int_equal(s->name, 104);
	assert_int_equal(s->context_trace_id, 8);
	assert_int_equal(s->context_span_id, 24);
	assert_int_equal(s->context_flags, 33);
}

static void test_from_descriptors(void **state)
{
	struct go_runtime_offsets r;
	struct go_span_offsets s;

	find(48, false, &r, &s);
	check_runtime(&r);
	assert_int_equal(r.g_status, 216);
	assert_int_equal(r.g_labels, 248);
	assert_int_equal(r.g_syscall_bp, 176);
	assert_int_equal(r.g_wait_reason, 224);
	assert_int_equal(r.m_thread, 88);
	check_span(&s);
	assert_int_equal(s.parent, 32);
	assert_int_equal(s.start_time, 128);
	assert_int_equal(s.status, 192);
	assert_int_equal(s.kind, 280);
	assert_int_equal(s.unsampled_context, 40);
}

/* Fields that spanprof can do without are unknown; those that are there keep their offsets. */
static void test_lacking_fields(void **state)
{
	struct go_runtime_offsets r;
	struct go_span_offsets s;

	find(48, true, &r, &s);
	check_runtime(&r);
	assert_int_equal(r.g_status, 0);
	assert_int_equal(r.g_labels, 0);
	assert_int_equal(r.g_syscall_bp, 0);
	assert_int_equal(r.g_wait_reason, 0);
	assert_int_equal(r.m_thread, 0);
	check_span(&s);
	assert_int_equal(s.parent, 0);
	assert_int_equal(s.start_time, 0);
	assert_int_equal(s.status, 0);
	assert_int_equal(s.kind, 0);
	assert_int_equal(s.unsampled_context, 0);
}

/* A word that is not aligned cannot be right: the whole row comes from the table then. */
static void test_implausible(void **state)
{
	struct go_runtime_offsets r;
	struct go_span_offsets s;

	find(43, false, &r, &s);
	assert_int_equal(r.source, GO_OFFSETS_TABLE);
	assert_int_equal(r.g_goid, 160);
	assert_int_equal(r.g_m, 48);
	assert_int_equal(r.g_status, 152);
	assert_int_equal(r.m_curg, 192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go_version),     cmocka_unit_test(test_runtime_table),
		cmocka_unit_test(test_span_table),     cmocka_unit_test(test_from_descriptors),
		cmocka_unit_test(test_lacking_fields), cmocka_unit_test(test_implausible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
