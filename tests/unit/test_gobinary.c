/* SPDX-License-Identifier: Apache-2.0 */
/* A whole Go executable, made by hand, through gobinary_open; and files that are none. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "go_image.h"
#include "go_table.h"
#include "go_program.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"

struct opened {
	struct block_cache *cache;
	struct gobinary *binary;
	const struct gobinary_info *info;
};

static int program_open(const struct go_image *m, struct opened *o)
{
	int fd = go_image_file(m), err;

	*o = (struct opened){0};
	assert_int_equal(block_cache_open(1 << 20, &o->cache), 0);
	err = gobinary_open(fd, o->cache, &o->binary);
	close(fd);
	if (err)
		block_cache_close(o->cache);
	else
		o->info = gobinary_get_info(o->binary);
	return err;
}

static void program_close(struct opened *o)
{
	gobinary_close(o->binary);
	block_cache_close(o->cache);
}

static void check_site(const struct go_probe_site *s, uint64_t address, bool on_branch)
{
	assert_true(s->present);
	assert_int_equal(s->address, address);
	assert_int_equal(s->file_offset, address - GO_IMAGE_BASE);
	assert_int_equal(s->on_branch, on_branch);
}

static void check_program(const struct go_program *p, const struct gobinary_info *i)
{
	assert_int_equal(i->text_start, GO_IMAGE_TEXT);
	assert_int_equal(i->text_end, p->image.text_at);
	assert_true(i->stripped);
	assert_int_equal(i->pie, p->image.pie);
	assert_true(i->has_sdk);
	assert_int_equal(i->span_type, p->types.span_pointer);
	assert_int_equal(i->runtime.source, GO_OFFSETS_RTYPES);
	assert_int_equal(i->runtime.g_goid, 240);
	assert_int_equal(i->runtime.m_curg, 208);
	assert_int_equal(i->span.source, GO_OFFSETS_RTYPES);
	assert_int_equal(i->span.context, 208);
	assert_int_equal(i->span.unsampled_context, 40);
	assert_int_equal(i->unsampled_type, p->types.unsampled);
	assert_int_equal(i->allgs, GO_PROGRAM_ALLGS);
	assert_int_equal(i->itabs.span_count, 1);
	assert_int_equal(i->itabs.span[0], p->span_itab);
	assert_int_equal(i->itabs.context_count, 1);
	assert_int_equal(i->itabs.context[0], p->value_itab);
	check_site(&i->probes[GO_PROBE_RUNTIME_TRACE], p->runtime_trace_site, true);
	check_site(&i->probes[GO_PROBE_NEW_RECORDING], p->new_recording_site, true);
	check_site(&i->probes[GO_PROBE_WITH_VALUE], p->with_value_site, false);
	check_site(&i->probes[GO_PROBE_NEWPROC_RUNQPUT], p->runqput_site, false);
	check_site(&i->probes[GO_PROBE_TRACER_START_RET], p->start_return_site, false);
	assert_true(i->tls_known);
	assert_int_equal(i->tls_offset, GO_PROGRAM_TLS);
	/* The assembly function, not the wrapper of that name before it. */
	assert_int_equal(i->systemstack.start, p->systemstack);
	assert_int_equal(i->systemstack.end, p->systemstack + 16);
	assert_int_equal(i->goexit.start, p->goexit);
	assert_int_equal(i->sigtramp.start, 0);
	assert_int_equal(i->sigtramp.end, 0);
	assert_int_equal(i->top_frame_count, 2);
	assert_int_equal(i->top_frames[0].start, p->goexit);
	assert_int_equal(i->top_frames[0].end, p->goexit + 16);
	assert_int_equal(i->top_frames[1].start, p->mstart);
}

static void test_whole_program(void **state)
{
	static struct go_program p;
	struct opened o;

	for (int pie = 0; pie < 2; pie++) {
		go_program_fill(&p, pie, "go.opentelemetry.io/otel/sdk/trace", true);
		assert_int_equal(program_open(&p.image, &o), 0);
		check_program(&p, o.info);
		assert_true(o.info->cgo);
		assert_string_equal(o.info->go_version, "");
		assert_string_equal(o.info->sdk_version, "");
		program_close(&o);
	}
}

static void test_vendored_without_cgo(void **state)
{
	static struct go_program p;
	struct opened o;

	go_program_fill(&p, false, "example.com/x/vendor/go.opentelemetry.io/otel/sdk/trace",
			false);
	assert_int_equal(program_open(&p.image, &o), 0);
	check_program(&p, o.info);
	assert_false(o.info->cgo);
	program_close(&o);
}

/* Types that cannot be read cost the descriptors only: functions and tables remain. */
static void test_without_types(void **state)
{
	static struct go_program p;
	struct opened o;

	go_program_fill(&p, false, "go.opentelemetry.io/otel/sdk/trace", true);
	memset(p.image.data + (GO_IMAGE_DATA - GO_IMAGE_BASE), 0,
	       GO_IMAGE_TYPES_END - GO_IMAGE_DATA);
	assert_int_equal(program_open(&p.image, &o), 0);
	assert_true(o.info->has_sdk);
	assert_int_equal(o.info->span_type, 0);
	assert_int_equal(o.info->unsampled_type, 0);
	assert_int_equal(o.info->itabs.span_count, 0);
	assert_int_equal(o.info->itabs.context_count, 0);
	assert_int_equal(o.info->allgs, GO_PROGRAM_ALLGS);
	assert_int_equal(o.info->span.source, GO_OFFSETS_NEWEST);
	assert_int_equal(o.info->span.context, 192);
	assert_int_equal(o.info->runtime.source, GO_OFFSETS_NEWEST);
	assert_int_equal(o.info->runtime.g_goid, 152);
	assert_true(o.info->probes[GO_PROBE_RUNTIME_TRACE].present);
	program_close(&o);
}

static void test_look_ups_after_open(void **state)
{
	static struct go_program p;
	struct block_cache *other;
	struct go_function f;
	struct opened o;
	char name[64];

	go_program_fill(&p, true, "go.opentelemetry.io/otel/sdk/trace", true);
	assert_int_equal(program_open(&p.image, &o), 0);
	assert_int_equal(block_cache_open(1 << 20, &other), 0);
	gobinary_set_cache(o.binary, other);
	assert_int_equal(block_cache_bytes(o.cache), 0);
	block_cache_close(o.cache);
	o.cache = other;
	assert_int_equal(pclntab_find_function(gobinary_get_pclntab(o.binary), p.goexit + 3, &f),
			 0);
	assert_int_equal(pclntab_get_name(gobinary_get_pclntab(o.binary), &f, name, sizeof(name)),
			 0);
	assert_string_equal(name, "runtime.goexit");
	assert_true(block_cache_bytes(other) > 0);
	program_close(&o);
}

static void relocate_table(struct elf_file *f, const struct go_table *t)
{
	for (size_t i = 0; i < 4; i++) {
		uint64_t place = t->function_table + i * 16, word;

		memcpy(&word, f->data.data + (place - ELF_FILE_DATA), sizeof(word));
		elf_file_relocate(f, place, word);
		patch(&f->data, place - ELF_FILE_DATA, 0, 8);
	}
}

/* Go 1.16's moduledata, all pointers in the relocations. */
static void add_module(struct elf_file *f, const struct go_table *t)
{
	uint64_t module, region;

	add_align(&f->data, 8);
	module = ELF_FILE_DATA + f->data.size;
	for (int i = 0; i < 48; i++)
		add_u64(&f->data, 0);
	elf_file_relocate(f, module, t->address);
	for (size_t i = 0; i < 5; i++) {
		memcpy(&region, f->data.data + (t->address - ELF_FILE_DATA) + 24 + 8 * i, 8);
		elf_file_relocate(f, module + 8 * (1 + 3 * i), t->address + region);
	}
	elf_file_relocate(f, module + 8 * 22, t->text);
	elf_file_relocate(f, module + 8 * 23, t->text + 0x160);
	elf_file_relocate(f, module + 8 * 35, ELF_FILE_DATA);
	elf_file_relocate(f, module + 8 * 36, ELF_FILE_DATA + 8);
}

/* Up to Go 1.17 look-ups in a PIE go by the relocations, which are not read anew for them. */
static void test_old_table_keeps_relocations(void **state)
{
	static const char nothing[512];
	struct elf_file f;
	struct go_table t;
	struct opened o = {0};
	struct block_cache *other;
	struct go_function found;
	Elf64_Phdr dynamic;
	int fd;

	elf_file_open(&f, 0);
	add_u64(&f.constants, 0);
	go_table_add(&t, GO_TABLE_1_16, &f.data, ELF_FILE_DATA, GO_TABLE_TEXT);
	add_module(&f, &t);
	relocate_table(&f, &t); /* behind: not sorted, so that the index is a copy */
	fd = elf_file_write(&f);
	elf_file_close(&f);
	assert_int_equal(block_cache_open(1 << 20, &o.cache), 0);
	assert_int_equal(gobinary_open(fd, o.cache, &o.binary), 0);
	assert_int_equal(block_cache_open(1 << 20, &other), 0);
	gobinary_set_cache(o.binary, other);
	block_cache_close(o.cache);
	o.cache = other;
	assert_int_equal(pread(fd, &dynamic, sizeof(dynamic), sizeof(Elf64_Ehdr) + 3 * 56), 56);
	assert_int_equal(dynamic.p_type, PT_DYNAMIC);
	assert_int_equal(pwrite(fd, nothing, sizeof(nothing), (off_t)dynamic.p_offset),
			 sizeof(nothing));
	close(fd);
	for (uint64_t at = 0; at < 0x160; at += 0x20) {
		assert_int_equal(pclntab_find_function(gobinary_get_pclntab(o.binary),
						       GO_TABLE_TEXT + at, &found),
				 0);
		assert_int_equal(found.entry, GO_TABLE_TEXT + (at < 0x100   ? 0
							       : at < 0x140 ? 0x100
									    : 0x140));
	}
	program_close(&o);
}

static void test_not_go(void **state)
{
	static struct go_program p;
	struct opened o;
	struct block_cache *cache;
	struct gobinary *b;
	int fd;

	go_image_open(&p.image, false);
	assert_int_equal(program_open(&p.image, &o), -ENOENT); /* an ELF file without pclntab */
	p.image.data[0] = 'e';
	assert_int_equal(program_open(&p.image, &o), -ENOEXEC);
	go_program_fill(&p, false, "go.opentelemetry.io/otel/sdk/trace", true);
	go_image_put64(&p.image, GO_IMAGE_MODULE, 0); /* nothing points at pclntab */
	assert_int_equal(program_open(&p.image, &o), -ENOENT);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(gobinary_open(fd, cache, &b), -ENOEXEC);
	close(fd);
	assert_int_equal(gobinary_open(-1, cache, &b), -EBADF);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(gobinary_open(fd, cache, &b), -ENOENT); /* this very program */
	close(fd);
	block_cache_close(cache);
	gobinary_close(NULL);
}

/* Cut anywhere, a file is refused or gives less; it never fails otherwise. */
static void test_truncated(void **state)
{
	static struct go_program p;
	struct block_cache *cache;

	go_program_fill(&p, true, "go.opentelemetry.io/otel/sdk/trace", true);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	for (size_t size = 0; size < sizeof(p.image.data); size += 251) {
		int fd = go_image_file(&p.image), err;
		struct gobinary *b = NULL;

		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		err = gobinary_open(fd, cache, &b);
		if (size < GO_IMAGE_MODULE - GO_IMAGE_BASE)
			assert_true(err == -ENOEXEC || err == -ENOENT || err == -EINVAL);
		gobinary_close(b);
		close(fd);
	}
	block_cache_close(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_program),
		cmocka_unit_test(test_vendored_without_cgo),
		cmocka_unit_test(test_without_types),
		cmocka_unit_test(test_look_ups_after_open),
		cmocka_unit_test(test_old_table_keeps_relocations),
		cmocka_unit_test(test_not_go),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
