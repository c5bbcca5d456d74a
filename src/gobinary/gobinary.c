/* SPDX-License-Identifier: Apache-2.0 */
/* gobinary: reads one Go executable into a plain structure; see gobinary.h. */
#include "gobinary/gobinary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gobinary/all_goroutines.h"
#include "gobinary/build_info.h"
#include "gobinary/elf_image.h"
#include "gobinary/go_functions.h"
#include "gobinary/go_version.h"
#include "gobinary/itabs.h"
#include "gobinary/moduledata.h"
#include "gobinary/probe_sites.h"
#include "gobinary/resource_layout.h"
#include "gobinary/rtypes.h"
#include "gobinary/runtime_layout.h"
#include "gobinary/span_layout.h"
#include "gobinary/tls_offset.h"
#include "gobinary/wait_reasons.h"

struct gobinary {
	struct elf_image *image;
	struct pclntab *pclntab;
	struct wait_reasons wait_reasons;
	struct gobinary_info info;
};

#define FRAME_RECORDS_SINCE 21 /* minor of Go: every function that calls keeps a frame record */

enum {
	TYPE_G,
	TYPE_M,
	TYPE_SPAN,
	TYPE_UNSAMPLED,
	TYPE_PAIR,
	TYPE_HOLDER,
	TYPE_CONTEXT,
	TYPE_COUNT
};

/* Distribution packages carry no module list: nothing here depends on what is found. */
static void read_build_info(struct gobinary *b)
{
	struct gobinary_info *info = &b->info;
	struct build_info build;
	int minor;

	(void)build_info_read_go_build_id(b->image, info->build_id_go, sizeof(info->build_id_go));
	(void)elf_image_get_build_id(b->image, info->build_id_gnu, sizeof(info->build_id_gnu));
	if (build_info_read(b->image, &build))
		return;
	snprintf(info->go_version, sizeof(info->go_version), "%s", build.go_version);
	snprintf(info->main_path, sizeof(info->main_path), "%s", build.main_path);
	snprintf(info->module_version, sizeof(info->module_version), "%s", build.module_version);
	snprintf(info->vcs_revision, sizeof(info->vcs_revision), "%s", build.vcs_revision);
	snprintf(info->sdk_version, sizeof(info->sdk_version), "%s", build.sdk_version);
	minor = go_version_minor(info->go_version);
	info->frameless_callers = minor >= 0 && minor < FRAME_RECORDS_SINCE;
}

static void read_types(struct gobinary *b, const struct moduledata *module, char *sdk_package,
		       size_t size)
{
	struct rtype_query types[TYPE_COUNT] = {
		[TYPE_G] = {.name = "runtime.g", .package = "runtime"},
		[TYPE_M] = {.name = "runtime.m", .package = "runtime"},
		[TYPE_SPAN] = {.name = "trace.recordingSpan", .package = SPAN_LAYOUT_PACKAGE},
		[TYPE_UNSAMPLED] = {.name = "trace.nonRecordingSpan",
				    .package = SPAN_LAYOUT_PACKAGE},
		[TYPE_PAIR] = {.name = RESOURCE_LAYOUT_PAIR_NAME,
			       .package = RESOURCE_LAYOUT_PAIR_PACKAGE},
		[TYPE_HOLDER] = {.name = RESOURCE_LAYOUT_HOLDER_NAME,
				 .package = RESOURCE_LAYOUT_HOLDER_PACKAGE},
		[TYPE_CONTEXT] = {.name = "context.Context",
				  .package = "context",
				  .interface = true},
	};
	const char *package = SPAN_LAYOUT_PACKAGE;

	/* Types that cannot be read are as good as none: the built-in tables take over. */
	(void)rtypes_find(b->image, module, types, TYPE_COUNT);
	runtime_layout_find(b->image, types[TYPE_G].type, types[TYPE_M].type, b->info.go_version,
			    &b->info.runtime);
	span_layout_find(b->image, types[TYPE_SPAN].type, types[TYPE_UNSAMPLED].type,
			 b->info.sdk_version, &b->info.span);
	resource_layout_find(b->image, module,
			     &(struct resource_layout_types){types[TYPE_SPAN].type,
							     types[TYPE_PAIR].type,
							     types[TYPE_HOLDER].type},
			     &b->info.resource);
	b->info.span_type = types[TYPE_SPAN].pointer;
	b->info.unsampled_type = types[TYPE_UNSAMPLED].type;
	b->info.has_sdk = types[TYPE_SPAN].type != 0;
	if (b->info.has_sdk)
		package = types[TYPE_SPAN].found;
	snprintf(sdk_package, size, "%s", package);
	/* Without spans nobody looks for contexts. */
	if (b->info.span_type)
		itabs_find(b->image, module, b->info.span_type, types[TYPE_CONTEXT].type,
			   &b->info.itabs);
}

/*
 * Where the frame-pointer chain of a whole stack ends: goexit below a goroutine, mstart and rt0_go
 * below a thread, mcall and morestack where g0 left a goroutine, cgocallback where C called Go.
 */
static void set_top_frames(struct gobinary_info *info, const struct go_function_range *found)
{
	static const enum go_function_id top[] = {FUNCTION_GOEXIT,    FUNCTION_MSTART,
						  FUNCTION_RT0_GO,    FUNCTION_MCALL,
						  FUNCTION_MORESTACK, FUNCTION_CGOCALLBACK};

	for (size_t i = 0; i < sizeof(top) / sizeof(*top); i++) {
		const struct go_function_range *f = &found[top[i]];

		if (!f->start)
			continue;
		info->top_frames[info->top_frame_count].start = f->start;
		info->top_frames[info->top_frame_count++].end = f->end;
	}
}

#define SET_RANGE(info, name, range)                                                               \
	do {                                                                                       \
		(info)->name.start = (range).start;                                                \
		(info)->name.end = (range).end;                                                    \
	} while (0)

static int read_functions(struct gobinary *b, const struct moduledata *module,
			  const char *sdk_package)
{
	struct go_function_range found[FUNCTION_COUNT];
	struct gobinary_info *info = &b->info;
	int err = go_functions_find(b->pclntab, sdk_package, found);

	if (err)
		return err;
	probe_sites_find(b->image, found, info->probes);
	resource_layout_find_globals(b->image, module, found, &info->resource);
	info->allgs = all_goroutines_find(b->image, module, found);
	wait_reasons_find(b->image, module, found, &b->wait_reasons);
	info->tls_known = !tls_offset_find(b->image, found, &info->tls_offset);
	/*
	 * runtime.iscgo is a variable, which a stripped file does not name; it is true where
	 * runtime/cgo (or a replacement such as purego's) is linked, and that brings crosscall2.
	 */
	info->cgo = found[FUNCTION_CROSSCALL2].start != 0;
	if (found[FUNCTION_RUNTIME_TRACE].start || found[FUNCTION_NEW_RECORDING].start)
		info->has_sdk = true;
	set_top_frames(info, found);
	SET_RANGE(info, systemstack, found[FUNCTION_SYSTEMSTACK]);
	SET_RANGE(info, mcall, found[FUNCTION_MCALL]);
	SET_RANGE(info, morestack, found[FUNCTION_MORESTACK]);
	SET_RANGE(info, asmcgocall, found[FUNCTION_ASMCGOCALL]);
	SET_RANGE(info, cgocallback, found[FUNCTION_CGOCALLBACK]);
	SET_RANGE(info, sigtramp, found[FUNCTION_SIGTRAMP]);
	SET_RANGE(info, cgo_sigtramp, found[FUNCTION_CGO_SIGTRAMP]);
	SET_RANGE(info, sigreturn, found[FUNCTION_SIGRETURN]);
	if (!info->sigreturn.start)
		SET_RANGE(info, sigreturn, found[FUNCTION_SIGRETURN_OLD]);
	SET_RANGE(info, async_preempt, found[FUNCTION_ASYNC_PREEMPT]);
	SET_RANGE(info, sigpanic, found[FUNCTION_SIGPANIC]);
	SET_RANGE(info, goexit, found[FUNCTION_GOEXIT]);
	return 0;
}

static int read_all(struct gobinary *b)
{
	char sdk_package[RTYPE_PACKAGE_BYTES] = "";
	struct elf_section symbols;
	struct moduledata module;
	uint64_t address;
	int err = pclntab_find(b->image, &address);

	if (!err)
		err = moduledata_find(b->image, address, &module);
	if (!err)
		err = pclntab_open(b->image, address, &module, &b->pclntab);
	if (err)
		return err;
	read_build_info(b);
	b->info.pie = elf_image_is_pie(b->image);
	b->info.stripped = elf_image_find_section(b->image, ".symtab", &symbols) != 0;
	b->info.text_start = module.text;
	b->info.text_end = module.etext;
	read_types(b, &module, sdk_package, sizeof(sdk_package));
	return read_functions(b, &module, sdk_package);
}

int gobinary_open(int fd, struct block_cache *cache, struct gobinary **out)
{
	struct gobinary *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	err = elf_image_open(fd, cache, &b->image);
	if (!err)
		err = read_all(b);
	if (err) {
		gobinary_close(b);
		return err;
	}
	if (!pclntab_needs_relocations(b->pclntab))
		elf_image_settle(b->image);
	*out = b;
	return 0;
}

void gobinary_close(struct gobinary *b)
{
	if (!b)
		return;
	free(b->wait_reasons.names);
	pclntab_close(b->pclntab);
	elf_image_close(b->image);
	free(b);
}

void gobinary_set_cache(struct gobinary *b, struct block_cache *cache)
{
	if (b)
		elf_image_set_cache(b->image, cache);
}

bool gobinary_is_deleted(const struct gobinary *b)
{
	return elf_image_is_deleted(b->image);
}

const char *gobinary_get_wait_reason(const struct gobinary *b, uint8_t reason)
{
	return reason < b->wait_reasons.count ? b->wait_reasons.names[reason] : NULL;
}

const struct gobinary_info *gobinary_get_info(const struct gobinary *b)
{
	static const struct gobinary_info nothing;

	return b ? &b->info : &nothing;
}

struct pclntab *gobinary_get_pclntab(struct gobinary *b)
{
	return b ? b->pclntab : NULL;
}
