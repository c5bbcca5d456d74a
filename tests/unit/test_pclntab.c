/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pclntab reader on small tables of every format; real ones are held against the runtime's
 * answers by tests/e2e/symbols.sh.
 */
#include <errno.h>
#include <stdio.h>

#include "go_table.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/pclntab.h"

#define BASE	0x400000ull
#define PADDING 40

struct fixture {
	struct elf_file file;
	struct go_table table;
	struct moduledata module;
	struct block_cache *cache;
	struct elf_image *image;
	struct pclntab *pclntab;
	uint64_t text;
};

/* The image with the table in its constants, or in the data of a relocated PIE. */
static void open_image(struct fixture *x, enum go_table_version version, bool pie)
{
	uint64_t base = pie ? 0 : BASE;
	struct buffer *b;
	int fd;

	memset(x, 0, sizeof(*x));
	x->text = base + GO_TABLE_TEXT;
	elf_file_open(&x->file, base);
	add_u64(&x->file.constants, 0);
	add_u64(&x->file.data, 0);
	b = pie ? &x->file.data : &x->file.constants;
	for (int i = 0; i < PADDING; i++)
		add_u8(b, 0xfb);
	go_table_add(&x->table, version, b, base + (pie ? ELF_FILE_DATA : ELF_FILE_CONSTANTS),
		     x->text);
	x->module.text = x->text;
	x->module.gofunc = x->table.inlining;
	if (pie && version < GO_TABLE_1_18) {
		/* As after ld: the pointers are in the relocations, the file has zeroes. */
		for (size_t i = 0; i < 4; i++) {
			uint64_t place = x->table.function_table + i * 16, word;

			memcpy(&word, b->data + (place - ELF_FILE_DATA), sizeof(word));
			elf_file_relocate(&x->file, place, word);
			patch(b, place - ELF_FILE_DATA, 0, 8);
		}
		elf_file_relocate(&x->file, x->table.funcdata, x->table.inlining);
		patch(b, x->table.funcdata - ELF_FILE_DATA, 0, 8);
	}
	fd = elf_file_write(&x->file);
	assert_int_equal(block_cache_open(1 << 20, &x->cache), 0);
	assert_int_equal(elf_image_open(fd, x->cache, &x->image), 0);
	close(fd);
}

static void open_table(struct fixture *x, enum go_table_version version, bool pie)
{
	uint64_t address = 0;

	open_image(x, version, pie);
	assert_int_equal(pclntab_find(x->image, &address), 0);
	assert_int_equal(address, x->table.address);
	assert_int_equal(pclntab_open(x->image, address, &x->module, &x->pclntab), 0);
	elf_image_settle(x->image);
}

static void close_table(struct fixture *x)
{
	pclntab_close(x->pclntab);
	elf_image_close(x->image);
	block_cache_close(x->cache);
	elf_file_close(&x->file);
}

static void assert_frame(const struct go_frame *f, const char *function, const char *file,
			 uint32_t line, uint32_t start_line, bool wrapper)
{
	assert_string_equal(f->function, function);
	assert_string_equal(f->file, file);
	assert_int_equal(f->line, line);
	assert_int_equal(f->start_line, start_line);
	assert_int_equal(f->wrapper, wrapper);
}

static void check_functions(struct fixture *x)
{
	bool lines = x->table.version >= GO_TABLE_1_20;
	struct go_function f;
	char name[32];

	assert_int_equal(pclntab_find_function(x->pclntab, x->text - 1, &f), -ENOENT);
	assert_int_equal(pclntab_find_function(x->pclntab, x->text, &f), 0);
	assert_int_equal(f.entry, x->text);
	assert_int_equal(f.end, x->text + 0x100);
	assert_int_equal(f.flags, 0);
	assert_int_equal(f.start_line, lines ? 9 : 0);
	assert_int_equal(pclntab_get_name(x->pclntab, &f, name, sizeof(name)), 0);
	assert_string_equal(name, "main.main");
	assert_int_equal(pclntab_get_name(x->pclntab, &f, name, 5), 0);
	assert_string_equal(name, "main");
	assert_int_equal(pclntab_find_function(x->pclntab, x->text + 0x13f, &f), 0);
	assert_int_equal(f.entry, x->text + 0x100);
	assert_int_equal(f.flags, GO_WRAPPER);
	assert_int_equal(pclntab_find_function(x->pclntab, x->text + 0x15f, &f), 0);
	assert_int_equal(f.entry, x->text + 0x140);
	assert_int_equal(f.flags, x->table.version >= GO_TABLE_1_17 ? GO_TOP_FRAME | GO_ASSEMBLY
								    : GO_TOP_FRAME);
	assert_int_equal(pclntab_find_function(x->pclntab, x->text + 0x160, &f), -ENOENT);
	assert_int_equal(pclntab_find_function(x->pclntab, UINT64_MAX, &f), -ENOENT);
	assert_true(pclntab_begins_at(x->pclntab, x->text));
}

static void check_frames(struct fixture *x)
{
	bool lines = x->table.version >= GO_TABLE_1_20;
	struct go_frame frames[4];

	assert_int_equal(pclntab_get_frames(x->pclntab, x->text + 0xf, frames, 4), 1);
	assert_frame(&frames[0], "main.main", "/src/a.go", 10, lines ? 9 : 0, false);
	assert_int_equal(pclntab_get_frames(x->pclntab, x->text + 0x10, frames, 4), 2);
	assert_frame(&frames[0], "main.inner", "/src/b.go", 30, lines ? 28 : 0, false);
	assert_frame(&frames[1], "main.main", "/src/a.go", 10, lines ? 9 : 0, false);
	assert_int_equal(pclntab_get_frames(x->pclntab, x->text + 0x1f, frames, 1), 1);
	assert_frame(&frames[0], "main.inner", "/src/b.go", 30, lines ? 28 : 0, false);
	assert_int_equal(pclntab_get_frames(x->pclntab, x->text + 0x20, frames, 4), 1);
	assert_frame(&frames[0], "main.main", "/src/a.go", 11, lines ? 9 : 0, false);
	assert_int_equal(pclntab_get_frames(x->pclntab, x->text + 0x100, frames, 4), 1);
	assert_frame(&frames[0], "main.(*T).M", "", 0, lines ? 1 : 0, true);
	assert_int_equal(pclntab_get_frames(x->pclntab, x->text + 0x160, frames, 4), -ENOENT);
	assert_int_equal(pclntab_get_frames(x->pclntab, x->text, frames, 0), 0);
}

static void check_deltas(struct fixture *x)
{
	int32_t delta;

	assert_int_equal(pclntab_get_sp_delta(x->pclntab, x->text + 3, &delta), 0);
	assert_int_equal(delta, 0);
	assert_int_equal(pclntab_get_sp_delta(x->pclntab, x->text + 4, &delta), 0);
	assert_int_equal(delta, 24);
	assert_int_equal(pclntab_get_sp_delta(x->pclntab, x->text + 0xf4, &delta), 0);
	assert_int_equal(delta, 0);
	/* goexit's table is longer than goexit; the next function's address is outside. */
	assert_int_equal(pclntab_get_sp_delta(x->pclntab, x->text + 0x15f, &delta), 0);
	assert_int_equal(delta, 0);
	assert_int_equal(pclntab_get_sp_delta(x->pclntab, x->text + 0x160, &delta), -ENOENT);
}

struct seen {
	uint64_t base;
	char log[256];
};

static void log_function(void *context, size_t index, const struct go_function *f)
{
	struct seen *s = context;
	size_t used = strlen(s->log);

	snprintf(s->log + used, sizeof(s->log) - used, "%zu:%x-%x ", index,
		 (unsigned int)(f->entry - s->base), (unsigned int)(f->end - s->base));
}

static void check_names(struct fixture *x)
{
	static const char *const names[] = {"runtime.goexit", "main.mai", "main.main",	"",
					    "main.main",      "goexit",	  "main.(*T).M"};
	struct seen seen = {.base = x->text};
	struct go_function f;
	char long_name[600];

	assert_int_equal(pclntab_find_names(x->pclntab, names, 7, log_function, &seen), 0);
	/* In the order of the text; both places of a name that is asked for twice. */
	assert_true(!strcmp(seen.log, "2:0-100 4:0-100 6:100-140 0:140-160 ") ||
		    !strcmp(seen.log, "4:0-100 2:0-100 6:100-140 0:140-160 "));
	assert_int_equal(pclntab_find_name(x->pclntab, "runtime.goexit", &f), 0);
	assert_int_equal(f.entry, x->text + 0x140);
	assert_true(f.flags & GO_TOP_FRAME);
	assert_int_equal(pclntab_find_name(x->pclntab, "main.missing", &f), -ENOENT);
	/* Inlined everywhere: it has a name but no function. */
	assert_int_equal(pclntab_find_name(x->pclntab, "main.inner", &f), -ENOENT);
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(pclntab_find_name(x->pclntab, long_name, &f), -EINVAL);
}

static void reads_every_format(void **state)
{
	for (int pie = 0; pie < 2; pie++)
		for (int v = GO_TABLE_1_15; v <= GO_TABLE_1_20; v++) {
			struct fixture x;

			open_table(&x, (enum go_table_version)v, pie);
			check_functions(&x);
			check_frames(&x);
			check_deltas(&x);
			check_names(&x);
			close_table(&x);
		}
}

static void does_without_moduledata(void **state)
{
	struct go_frame frames[4];
	struct fixture x;

	open_image(&x, GO_TABLE_1_20, false);
	assert_int_equal(pclntab_open(x.image, x.table.address, NULL, &x.pclntab), 0);
	check_functions(&x);
	/* Where inlined calls are is unknown then; the line is right all the same. */
	assert_int_equal(pclntab_get_frames(x.pclntab, x.text + 0x10, frames, 4), 1);
	assert_frame(&frames[0], "main.main", "/src/b.go", 30, 9, false);
	close_table(&x);
}

static void needs_text_start(void **state)
{
	struct fixture x;
	struct buffer out;
	size_t at;

	/* As from 1.26 on: the header does not say where text starts. */
	open_image(&x, GO_TABLE_1_20, false);
	at = (size_t)(x.table.address - BASE - ELF_FILE_CONSTANTS) + 24;
	patch(&x.file.constants, at, 0, 8);
	elf_image_close(x.image);
	elf_file_compose(&x.file, &out);
	at = (size_t)memory_file(out.data, out.size);
	buffer_close(&out);
	assert_int_equal(elf_image_open((int)at, x.cache, &x.image), 0);
	close((int)at);
	assert_int_equal(pclntab_open(x.image, x.table.address, NULL, &x.pclntab), -EINVAL);
	assert_int_equal(pclntab_open(x.image, x.table.address, &x.module, &x.pclntab), 0);
	check_functions(&x);
	close_table(&x);
}

static void refuses_what_is_no_table(void **state)
{
	uint64_t address;
	struct fixture x;

	open_image(&x, GO_TABLE_1_20, false);
	assert_int_equal(pclntab_open(x.image, x.table.address + 8, &x.module, &x.pclntab),
			 -EINVAL);
	assert_int_equal(pclntab_open(x.image, 0, &x.module, &x.pclntab), -EINVAL);
	assert_int_equal(pclntab_open(x.image, UINT64_MAX, &x.module, &x.pclntab), -EINVAL);
	close_table(&x);

	memset(&x, 0, sizeof(x));
	elf_file_open(&x.file, BASE);
	for (int i = 0; i < 100; i++)
		add_u64(&x.file.constants, 0x08010000fffffff1);
	assert_int_equal(block_cache_open(1 << 20, &x.cache), 0);
	address = (uint64_t)elf_file_write(&x.file);
	assert_int_equal(elf_image_open((int)address, x.cache, &x.image), 0);
	close((int)address);
	assert_int_equal(pclntab_find(x.image, &address), -ENOENT);
	close_table(&x);
}

/* main.main's stack table spends 2 bytes a step and comes nowhere for three quarters of a MiB. */
static void bounds_the_look_ups_of_a_stack(void **state)
{
	struct go_frame frames[4];
	struct fixture x;
	size_t table, function;
	uint64_t pc_tables;
	uint32_t offset;
	int delta, fd;

	open_image(&x, GO_TABLE_1_20, false);
	elf_image_close(x.image);
	table = (size_t)(x.table.address - BASE - ELF_FILE_CONSTANTS);
	function = (size_t)(x.table.function_table - BASE - ELF_FILE_CONSTANTS);
	memcpy(&offset, x.file.constants.data + function + 4, sizeof(offset));
	memcpy(&pc_tables, x.file.constants.data + table + 56, sizeof(pc_tables));
	patch(&x.file.constants, function + offset + 16, x.file.constants.size - table - pc_tables,
	      4);
	add_pair(&x.file.constants, 9, 0);
	for (int i = 0; i < 3 << 17; i++)
		add_pair(&x.file.constants, i % 2 ? -8 : 8, 0);
	add_pair(&x.file.constants, 8, 0x100);
	add_u8(&x.file.constants, 0);
	fd = elf_file_write(&x.file);
	assert_int_equal(elf_image_open(fd, x.cache, &x.image), 0);
	close(fd);
	assert_int_equal(pclntab_open(x.image, x.table.address, &x.module, &x.pclntab), 0);
	for (int stack = 0; stack < 2; stack++) {
		pclntab_begin(x.pclntab);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(pclntab_get_sp_delta(x.pclntab, x.text + 8, &delta),
					 i < 2 ? 0 : -EINVAL);
			assert_int_equal(delta, 16);
			/* Lines have their own. */
			assert_int_equal(pclntab_get_frames(x.pclntab, x.text, frames, 4), 1);
			assert_int_equal(frames[0].line, 10);
		}
	}
	close_table(&x);
}

/* A sparse file whose table of names is a tebibyte. */
static void refuses_endless_names(void **state)
{
	const uint64_t end = 1ull << 40;
	const char *name = "main.main";
	struct seen seen = {0};
	struct fixture x;
	struct buffer out;
	size_t at;
	int fd;

	open_image(&x, GO_TABLE_1_20, false);
	elf_image_close(x.image);
	at = (size_t)(x.table.address - BASE - ELF_FILE_CONSTANTS) + 40;
	for (size_t i = 0; i < 4; i++)
		patch(&x.file.constants, at + i * 8, end + i * 8, 8);
	elf_file_compose(&x.file, &out);
	/* p_filesz and p_memsz of the constants. */
	patch(&out, sizeof(Elf64_Ehdr) + 32, 2 * end, 8);
	patch(&out, sizeof(Elf64_Ehdr) + 40, 2 * end, 8);
	fd = memory_file(out.data, out.size);
	buffer_close(&out);
	assert_int_equal(ftruncate(fd, (off_t)(3 * end)), 0);
	assert_int_equal(elf_image_open(fd, x.cache, &x.image), 0);
	close(fd);
	alarm(10);
	assert_int_equal(pclntab_open(x.image, x.table.address, &x.module, &x.pclntab), 0);
	assert_int_equal(pclntab_find_names(x.pclntab, &name, 1, log_function, &seen), -EINVAL);
	alarm(0);
	close_table(&x);
}

/* Every byte of the table in turn set to 0xff: errors are allowed, endless loops are not. */
static void survives_spoilt_tables(void **state)
{
	for (int v = GO_TABLE_1_15; v <= GO_TABLE_1_20; v++) {
		struct fixture x;
		struct buffer out;
		size_t start;
		int opened = 0;

		open_image(&x, (enum go_table_version)v, false);
		elf_image_close(x.image);
		elf_file_compose(&x.file, &out);
		start = 4096 + (size_t)(x.table.address - BASE - ELF_FILE_CONSTANTS);
		for (size_t i = start; i < start + 700 && i < out.size; i++) {
			uint8_t before = out.data[i];
			struct go_frame frames[4];
			int fd, delta;

			out.data[i] = 0xff;
			fd = memory_file(out.data, out.size);
			out.data[i] = before;
			assert_int_equal(elf_image_open(fd, x.cache, &x.image), 0);
			close(fd);
			if (!pclntab_open(x.image, x.table.address, &x.module, &x.pclntab)) {
				opened++;
				for (uint64_t pc = x.text; pc < x.text + 0x170; pc += 7) {
					int n = pclntab_get_frames(x.pclntab, pc, frames, 4);

					assert_true(n == -ENOENT || n == -ERANGE ||
						    (n >= 1 && n <= 4));
					pclntab_get_sp_delta(x.pclntab, pc, &delta);
				}
				pclntab_close(x.pclntab);
				x.pclntab = NULL;
			}
			elf_image_close(x.image);
			x.image = NULL;
		}
		assert_true(opened > 300);
		buffer_close(&out);
		close_table(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_format),
		cmocka_unit_test(does_without_moduledata),
		cmocka_unit_test(needs_text_start),
		cmocka_unit_test(refuses_what_is_no_table),
		cmocka_unit_test(bounds_the_look_ups_of_a_stack),
		cmocka_unit_test(refuses_endless_names),
		cmocka_unit_test(survives_spoilt_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
