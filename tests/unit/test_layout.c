/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets in g, m and recordingSpan: from descriptors, and from the tables where those are gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "go_image.h"
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
	uint16_t goid, bp, syscall_sp, curg;
};

static void test_runtime_table(void **state)
{
	const struct runtime_row rows[] = {
		{"go1.17.13", GO_OFFSETS_TABLE, 152, 104, 112, 192},
		{"go1.21.13", GO_OFFSETS_TABLE, 152, 104, 112, 192},
		{"go1.22.12", GO_OFFSETS_TABLE, 152, 104, 112, 192},
		{"go1.23.0", GO_OFFSETS_TABLE, 160, 104, 112, 192},
		{"go1.24.11", GO_OFFSETS_TABLE, 160, 104, 112, 192},
		{"go1.25.5", GO_OFFSETS_TABLE, 152, 96, 104, 184},
		{"go1.26.8", GO_OFFSETS_TABLE, 152, 96, 104, 184},
		{"go1.27.3", GO_OFFSETS_TABLE, 152, 96, 104, 184},
		{"go1.28.0", GO_OFFSETS_NEWEST, 152, 96, 104, 184},
		{"", GO_OFFSETS_NEWEST, 152, 96, 104, 184},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct runtime_row *r = &rows[i];
		struct go_runtime_offsets o;

		runtime_layout_find(NULL, 0, 0, r->version, &o);
		assert_int_equal(o.source, r->source);
		assert_int_equal(o.g_m, 48);
		assert_int_equal(o.g_goid, r->goid);
		assert_int_equal(o.g_stack_hi, 8);
		assert_int_equal(o.g_sched_sp, 56);
		assert_int_equal(o.g_sched_pc, 64);
		assert_int_equal(o.g_sched_bp, r->bp);
		assert_int_equal(o.g_syscall_sp, r->syscall_sp);
		assert_int_equal(o.g_syscall_pc, r->syscall_sp + 8);
		assert_int_equal(o.m_curg, r->curg);
	}
}

static void test_span_table(void **state)
{
	const struct {
		const char *version;
		enum go_offsets_source source;
		uint16_t context, end_time, name;
	} rows[] = {
		{"v1.0.1", GO_OFFSETS_TABLE, 232, 120, 80},
		{"v1.3.0", GO_OFFSETS_TABLE, 232, 120, 80},
		{"v1.4.0", GO_OFFSETS_TABLE, 176, 120, 80},
		{"v1.7.0", GO_OFFSETS_TABLE, 176, 120, 80},
		{"v1.19.0", GO_OFFSETS_TABLE, 176, 120, 80},
		{"v1.20.0", GO_OFFSETS_TABLE, 192, 136, 96},
		{"v1.47.0", GO_OFFSETS_TABLE, 192, 136, 96},
		{"v1.60.0", GO_OFFSETS_NEWEST, 192, 136, 96},
		{"", GO_OFFSETS_NEWEST, 192, 136, 96},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct go_span_offsets o;

		span_layout_find(NULL, 0, 0, rows[i].version, &o);
		assert_int_equal(o.source, rows[i].source);
		assert_int_equal(o.context, rows[i].context);
		assert_int_equal(o.end_time, rows[i].end_time);
		assert_int_equal(o.name, rows[i].name);
		assert_int_equal(o.context_trace_id, 0);
		assert_int_equal(o.context_span_id, 16);
		assert_int_equal(o.context_flags, 24);
	}
}

struct types {
	uint64_t g, m, span;
};

/* Offsets that no version has, so that a table cannot be mistaken for them. */
static void add_types(struct go_image *m, struct types *t, uint64_t bp)
{
	const struct go_image_field stack[] = {{"lo", 0, 0}, {"hi", 0, 8}};
	const struct go_image_field sched[] = {{"sp", 0, 8}, {"pc", 0, 16}, {"bp", 0, bp}};
	uint64_t stack_type = go_image_add_struct(m, NULL, NULL, 16, stack, 2, 0, false, NULL);
	uint64_t sched_type = go_image_add_struct(m, NULL, NULL, 64, sched, 3, 0, false, NULL);
	const struct go_image_field g[] = {{"stack", stack_type, 32}, {"m", 0, 64},
					   {"sched", sched_type, 80}, {"syscallsp", 0, 160},
					   {"syscallpc", 0, 168},     {"goid", 0, 240}};
	const struct go_image_field mm[] = {{"g0", 0, 16}, {"gsignal", 0, 112}, {"curg", 0, 208}};
	const struct go_image_field context[] = {
		{"traceID", 0, 8}, {"spanID", 0, 24}, {"traceFlags", 0, 33}};
	uint64_t context_type = go_image_add_struct(m, NULL, NULL, 64, context, 3, 0, false, NULL);
	const struct go_image_field span[] = {
		{"name", 0, 104}, {"endTime", 0, 152}, {"spanContext", context_type, 208}};

	t->g = go_image_add_struct(m, NULL, NULL, 320, g, 6, 0, false, NULL);
	t->m = go_image_add_struct(m, NULL, NULL, 320, mm, 3, 0, false, NULL);
	t->span = go_image_add_struct(m, NULL, NULL, 300, span, 3, 0, false, NULL);
}

static void find(uint64_t bp, struct go_runtime_offsets *runtime, struct go_span_offsets *span)
{
	static struct go_image m;
	struct block_cache *cache;
	struct elf_image *image;
	struct types t;
	int fd;

	go_image_open(&m, true);
	add_types(&m, &t, bp);
	go_image_put_dynamic(&m);
	fd = go_image_file(&m);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	runtime_layout_find(image, t.g, t.m, "go1.24.1", runtime);
	span_layout_find(image, t.span, 0, "v1.28.0", span);
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
}

static void test_from_descriptors(void **state)
{
	struct go_runtime_offsets r;
	struct go_span_offsets s;

	find(48, &r, &s);
	assert_int_equal(r.source, GO_OFFSETS_RTYPES);
	assert_int_equal(r.g_stack_hi, 40);
	assert_int_equal(r.g_m, 64);
	assert_int_equal(r.g_sched_sp, 88);
	assert_int_equal(r.g_sched_pc, 96);
	assert_int_equal(r.g_sched_bp, 128);
	assert_int_equal(r.g_syscall_sp, 160);
	assert_int_equal(r.g_syscall_pc, 168);
	assert_int_equal(r.g_goid, 240);
	assert_int_equal(r.m_curg, 208);
	assert_int_equal(s.source, GO_OFFSETS_RTYPES);
	assert_int_equal(s.context, 208);
	assert_int_equal(s.end_time, 152);
	assert_int_equal(s.name, 104);
	assert_int_equal(s.context_trace_id, 8);
	assert_int_equal(s.context_span_id, 24);
	assert_int_equal(s.context_flags, 33);
}

/* A word that is not aligned cannot be right: the whole row comes from the table then. */
static void test_implausible(void **state)
{
	struct go_runtime_offsets r;
	struct go_span_offsets s;

	find(43, &r, &s);
	assert_int_equal(r.source, GO_OFFSETS_TABLE);
	assert_int_equal(r.g_goid, 160);
	assert_int_equal(r.g_m, 48);
	assert_int_equal(r.m_curg, 192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go_version),  cmocka_unit_test(test_runtime_table),
		cmocka_unit_test(test_span_table),  cmocka_unit_test(test_from_descriptors),
		cmocka_unit_test(test_implausible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
