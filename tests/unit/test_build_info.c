/* SPDX-License-Identifier: Apache-2.0 */
/* Go's build information in both of its formats, found by section and by magic, and spoilt. */
#include <errno.h>
#include <stdio.h>

#include "elf_file.h"
#include "gobinary/block_cache.h"
#include "gobinary/build_info.h"
#include "gobinary/elf_image.h"

#define BASE	 0x400000ull
#define SENTINEL "0123456789abcdef"
#define MODULES                                                                                    \
	"path\texample.com/shop/cmd/api\n"                                                         \
	"mod\texample.com/shop\tv1.2.3\th1:sum=\n"                                                 \
	"dep\tgo.opentelemetry.io/otel\tv1.40.0\th1:sum=\n"                                        \
	"dep\tgo.opentelemetry.io/otel/sdk\tv1.41.0\th1:sum=\n"                                    \
	"dep\tgo.opentelemetry.io/otel/sdk/metric\tv1.42.0\th1:sum=\n"                             \
	"build\t-buildmode=exe\n"                                                                  \
	"build\tvcs.revision=0123abcd\n"                                                           \
	"build\tvcs.revision.x=no\n"

static void add_header(struct buffer *b, uint8_t flags)
{
	add_align(b, 16);
	buffer_add(b, "\xff Go buildinf:", 14);
	add_u8(b, 8);
	add_u8(b, flags);
}

static void add_inline_string(struct buffer *b, const char *text, size_t size)
{
	size_t left = size;

	for (; left >= 0x80; left >>= 7)
		add_u8(b, (uint8_t)(left | 0x80));
	add_u8(b, (uint8_t)left);
	buffer_add(b, text, size);
}

static void add_inline(struct buffer *b, const char *version, const char *modules)
{
	char all[4096];

	add_header(b, 2);
	add_u64(b, 0);
	add_u64(b, 0);
	add_inline_string(b, version, strlen(version));
	if (*modules)
		snprintf(all, sizeof(all), "%s%s%s", SENTINEL, modules, SENTINEL);
	else
		all[0] = '\0';
	add_inline_string(b, all, strlen(all));
}

static int read_file(struct elf_file *f, struct build_info *out)
{
	struct block_cache *cache;
	struct elf_image *image;
	int fd = elf_file_write(f), err;

	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	close(fd);
	memset(out, 0x55, sizeof(*out));
	err = build_info_read(image, out);
	elf_image_close(image);
	block_cache_close(cache);
	return err;
}

/* Reads an inline block that no section names, behind some other data. */
static int read_inline(const char *version, const char *modules, struct build_info *out)
{
	struct elf_file f;
	int err;

	elf_file_open(&f, BASE);
	for (int i = 0; i < 20001; i++)
		add_u64(&f.data, 0x10);
	add_inline(&f.data, version, modules);
	err = read_file(&f, out);
	elf_file_close(&f);
	return err;
}

static void assert_shop(const struct build_info *b)
{
	assert_string_equal(b->go_version, "go1.26.8");
	assert_string_equal(b->main_path, "example.com/shop/cmd/api");
	assert_string_equal(b->module_version, "v1.2.3");
	assert_string_equal(b->sdk_version, "v1.41.0");
	assert_string_equal(b->vcs_revision, "0123abcd");
}

static void reads_inline_strings(void **state)
{
	struct build_info b;

	assert_int_equal(read_inline("go1.26.8", MODULES, &b), 0);
	assert_shop(&b);
}

static void reads_by_section(void **state)
{
	struct build_info b;
	struct elf_file f;

	elf_file_open(&f, BASE);
	add_u64(&f.data, 0);
	add_inline(&f.data, "go1.1", "");
	add_inline(&f.constants, "go1.26.8", MODULES);
	f.sections[0].name = ".go.buildinfo";
	f.sections[0].address = BASE + ELF_FILE_CONSTANTS;
	f.sections[0].size = f.constants.size;
	assert_int_equal(read_file(&f, &b), 0);
	assert_shop(&b);
	/* A section that lies does not hide the block. */
	f.sections[0].address = BASE + ELF_FILE_CONSTANTS + 16;
	assert_int_equal(read_file(&f, &b), 0);
	assert_string_equal(b.go_version, "go1.1");
	elf_file_close(&f);
}

/* Up to 1.17: pointers to Go strings, which a PIE has in its relocations only. */
static void check_pointers(uint64_t base)
{
	uint64_t data = base + ELF_FILE_DATA, text = base + ELF_FILE_CONSTANTS;
	const char *modules = SENTINEL MODULES SENTINEL;
	const uint64_t places[] = {16, 24, 32, 48},
		       values[] = {data + 32, data + 48, text, text + 8};
	struct build_info b;
	struct elf_file f;

	elf_file_open(&f, base);
	buffer_printf(&f.constants, "go1.26.8%s", modules);
	add_header(&f.data, 0);
	for (int i = 0; i < 6; i++)
		add_u64(&f.data, i == 3 ? 8 : i == 5 ? strlen(modules) : 0);
	for (int i = 0; i < 4; i++) {
		if (base)
			memcpy(f.data.data + places[i], &values[i], 8);
		else
			elf_file_relocate(&f, data + places[i], values[i]);
	}
	assert_int_equal(read_file(&f, &b), 0);
	assert_shop(&b);
	elf_file_close(&f);
}

static void reads_pointers(void **state)
{
	check_pointers(BASE);
	check_pointers(0);
}

static void honours_replacements(void **state)
{
	struct build_info b;

	assert_int_equal(read_inline("go1.26.8",
				     "path\tx\n"
				     "dep\tgo.opentelemetry.io/otel/sdk\tv1.41.0\n"
				     "=>\texample.com/fork/sdk\tv9.0.1\th1:sum=\n"
				     "dep\tother\tv1.0.0\n"
				     "=>\tanother\tv2.0.0\n",
				     &b),
			 0);
	assert_string_equal(b.sdk_version, "v9.0.1");
	/* By a directory: no version of its own. */
	assert_int_equal(read_inline("go1.26.8",
				     "dep\tgo.opentelemetry.io/otel/sdk\tv1.41.0\n=>\t../sdk\t\n",
				     &b),
			 0);
	assert_string_equal(b.sdk_version, "v1.41.0");
	assert_int_equal(
		read_inline("go1.26.8", "mod\tgo.opentelemetry.io/otel/sdk\tv1.43.0-dev\t\n", &b),
		0);
	assert_string_equal(b.sdk_version, "v1.43.0-dev");
}

static void knows_what_is_missing(void **state)
{
	struct build_info b;

	assert_int_equal(read_inline("go1.20", "path\tx\nmod\tx\t(devel)\t\n", &b), 0);
	assert_string_equal(b.module_version, "(devel)");
	assert_string_equal(b.sdk_version, "");
	assert_string_equal(b.vcs_revision, "");
	/* Built without modules. */
	assert_int_equal(read_inline("go1.20", "", &b), 0);
	assert_string_equal(b.go_version, "go1.20");
	assert_string_equal(b.main_path, "");
}

static void cuts_and_cleans(void **state)
{
	struct build_info b;

	assert_int_equal(read_inline("go1.27.0 X:nodwarf5", "path\ta\x1b[31mb\n", &b), 0);
	assert_string_equal(b.go_version, "go1.27.0");
	assert_string_equal(b.main_path, "a\xef\xbf\xbd[31mb");
	assert_int_equal(read_inline("devel go1.27-abc Mon", "path\tx\n", &b), 0);
	assert_string_equal(b.go_version, "go1.27-abc");
	assert_int_equal(read_inline("go1.26.8-0123456789012345678901234567890123", "", &b), 0);
	assert_int_equal(strlen(b.go_version), sizeof(b.go_version) - 1);
}

static void refuses_bad_blocks(void **state)
{
	struct build_info b;
	struct elf_file f;

	elf_file_open(&f, BASE);
	add_u64(&f.constants, 0);
	add_u64(&f.data, 0);
	assert_int_equal(read_file(&f, &b), -ENOENT);
	/* Not 16-aligned: not the linker's. */
	buffer_add(&f.data, "\xff Go buildinf:\x08\x02", 16);
	for (int i = 0; i < 8; i++)
		add_u64(&f.data, 0);
	assert_int_equal(read_file(&f, &b), -ENOENT);
	/* A length beyond the segment, one beyond its cap, a big-endian one, the header alone. */
	add_header(&f.data, 2);
	add_u64(&f.data, 0);
	add_u64(&f.data, 0);
	buffer_add(&f.data, "\x20go", 3);
	assert_int_equal(read_file(&f, &b), -EINVAL);
	f.data.data[f.data.size - 3] = 0xff;
	f.data.data[f.data.size - 2] = 0x7f;
	assert_int_equal(read_file(&f, &b), -EINVAL);
	f.data.data[f.data.size - 3 - 17] = 1;
	assert_int_equal(read_file(&f, &b), -EINVAL);
	f.data.size -= 3;
	f.data.data[f.data.size - 17] = 2;
	assert_int_equal(read_file(&f, &b), -EINVAL);
	elf_file_close(&f);
}

static void reads_the_build_id(void **state)
{
	struct block_cache *cache;
	struct elf_image *image;
	struct elf_file f;
	char id[16];
	int fd;

	elf_file_open(&f, BASE);
	elf_file_add_note(&f, "Go", 4, "abc\x01/def", 8);
	fd = elf_file_write(&f);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	assert_int_equal(build_info_read_go_build_id(image, id, sizeof(id)), 0);
	assert_string_equal(id, "abc\xef\xbf\xbd/def");
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
	elf_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_inline_strings),	 cmocka_unit_test(reads_by_section),
		cmocka_unit_test(reads_pointers),	 cmocka_unit_test(honours_replacements),
		cmocka_unit_test(knows_what_is_missing), cmocka_unit_test(cuts_and_cleans),
		cmocka_unit_test(refuses_bad_blocks),	 cmocka_unit_test(reads_the_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
