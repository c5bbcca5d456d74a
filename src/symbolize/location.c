/* SPDX-License-Identifier: Apache-2.0 */
/* One address → its frames: kernel, Go, ELF symbols, or mapping and address alone. */
#include <errno.h>
#include <string.h>

#include "base/string_table.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/go_frames.h"
#include "symbolize/kernel_names.h"
#include "symbolize/symbolize_private.h"
#include "symbolize/vdso.h"

static const char *intern(struct symbolizer *s, const char *text)
{
	return string_table_get(s->strings, string_table_add(s->strings, text, strlen(text)));
}

static struct location *allocate(struct symbolizer *s, uint64_t address, enum frame_kind kind,
				 const struct frame_mapping *mapping, size_t frame_count)
{
	struct location *l;

	l = arena_take(&s->arena, sizeof(*l) + frame_count * sizeof(l->frames[0]));
	if (!l)
		return NULL;
	l->id = s->next_location_id++;
	l->address = address;
	l->mapping = mapping;
	l->kind = kind;
	l->frame_count = (uint32_t)frame_count;
	return l;
}

/* A location of at most one frame, known by its function's name only; "" unknown. */
static struct location *make_named(struct symbolizer *s, uint64_t address, enum frame_kind kind,
				   const struct frame_mapping *mapping, const char *name)
{
	struct location *l = allocate(s, address, kind, mapping, name[0] ? 1 : 0);

	if (!l)
		return NULL;
	if (name[0])
		l->frames[0] = (struct frame){.function = intern(s, name), .file = ""};
	else
		s->stats.unknown++;
	return l;
}

static struct location *make_kernel(struct symbolizer *s, uint64_t address)
{
	const char *name = NULL;

	if (s->kernel) {
		name = kernel_names_find(s->kernel, address);
		s->stats.kernel_names_hidden = kernel_names_are_hidden(s->kernel);
	}
	return make_named(s, address, FRAME_KERNEL, &s->kernel_mapping, name ? name : "");
}

static bool is_goexit(const struct gobinary_info *info, uint64_t in_file)
{
	return in_file >= info->goexit.start && in_file < info->goexit.end;
}

/* NULL and -ENOENT when the address has no Go function; NULL and -ENOMEM. */
static struct location *make_go(struct symbolizer *s, struct image *image, uint64_t address,
				const struct frame_mapping *mapping, int *err)
{
	uint64_t in_file = address - image->bias;
	struct location *l;
	size_t shown = 0;
	int count;

	*err = -ENOENT;
	count = pclntab_get_frames(gobinary_get_pclntab(image->binary), in_file, s->frames,
				   FRAMES_MAX);
	if (count <= 0)
		return NULL;
	*err = -ENOMEM;
	/* The root of every goroutine, which runtime/pprof does not write either. */
	if (is_goexit(gobinary_get_info(image->binary), in_file) ||
	    !strcmp(s->frames[count - 1].function, "runtime.goexit"))
		return allocate(s, address, FRAME_GO, mapping, 0);
	for (size_t i = 0; i < (size_t)count; i++)
		shown += go_frame_is_shown(s->frames, i);
	l = allocate(s, address, FRAME_GO, mapping, shown);
	if (!l)
		return NULL;
	for (size_t i = 0, at = 0; i < (size_t)count; i++) {
		const struct go_frame *f = &s->frames[i];

		if (go_frame_is_shown(s->frames, i))
			l->frames[at++] = (struct frame){
				.function = intern(s, f->function),
				.file = intern(s, f->file),
				.line = f->line,
				.start_line = f->start_line,
			};
	}
	return l;
}

static struct elf_symbols *get_vdso(struct symbolizer *s)
{
	if (!s->vdso_tried) {
		s->vdso_tried = true;
		if (vdso_open_symbols(s->config.cache, &s->vdso))
			s->vdso = NULL;
	}
	return s->vdso;
}

static struct location *make_native(struct symbolizer *s, struct image *image, uint64_t address,
				    const struct process_mapping *m, struct image_mapping *mapping)
{
	struct elf_symbols *symbols;
	char name[512] = "";

	if (mapping->is_vdso)
		symbols = get_vdso(s);
	else
		symbols = image_get_symbols(image, mapping, m, s->files);
	if (symbols &&
	    elf_symbols_find(symbols, address - m->start + m->file_offset, name, sizeof(name)))
		name[0] = '\0';
	return make_named(s, address, FRAME_NATIVE, &mapping->frame, name);
}

struct location *location_make_state(struct symbolizer *s, uint32_t name)
{
	return make_named(s, 0, FRAME_STATE, NULL, string_table_get(s->strings, name));
}

struct location *location_make(struct symbolizer *s, struct image *image,
			       const struct location_key *key)
{
	struct image_stores stores = {
		.arena = &s->arena,
		.strings = s->strings,
		.files = s->files,
		.next_mapping_id = &s->next_mapping_id,
	};
	uint64_t address = key->exact ? key->address : key->address - 1;
	struct image_mapping *mapping = NULL;
	const struct process_mapping *m;
	struct location *l;
	int err;

	if (key->kernel)
		return make_kernel(s, address);
	if (!image)
		return make_named(s, address, FRAME_NATIVE, NULL, "");
	m = image_find_process_mapping(image, address);
	if (m) {
		mapping = image_find_mapping(image, m, &stores);
		if (!mapping)
			return NULL;
	}
	if (image_holds_go_text(image, address)) {
		l = make_go(s, image, address, mapping ? &mapping->frame : NULL, &err);
		if (l || err != -ENOENT)
			return l;
	}
	if (!mapping)
		return make_named(s, address, FRAME_NATIVE, NULL, "");
	return make_native(s, image, address, m, mapping);
}
