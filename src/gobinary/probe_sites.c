/* SPDX-License-Identifier: Apache-2.0 */
/* Where probes may sit in one executable; see probe_sites.h. */
#include "gobinary/probe_sites.h"

#include <errno.h>
#include <stdlib.h>

#include "gobinary/elf_image.h"
#include "gobinary/probe_sites_arch.h"

/* (*tracer).Start takes 2 KiB; what is larger by far is not what it says it is. */
#define MAX_FUNCTION_BYTES 65536

enum place { PROLOGUE, CALL, RETURN };

static const struct {
	enum go_function_id function;
	enum place place;
	enum go_function_id callee; /* of a call */
} wanted[GO_PROBE_KIND_COUNT] = {
	[GO_PROBE_RUNTIME_TRACE] = {FUNCTION_RUNTIME_TRACE, PROLOGUE, 0},
	[GO_PROBE_WITH_VALUE] = {FUNCTION_TRACER_START, CALL, FUNCTION_WITH_VALUE},
	[GO_PROBE_NEW_RECORDING] = {FUNCTION_NEW_RECORDING, PROLOGUE, 0},
	[GO_PROBE_NEWPROC_RUNQPUT] = {FUNCTION_NEWPROC_CLOSURE, CALL, FUNCTION_RUNQPUT},
	[GO_PROBE_TRACER_START_RET] = {FUNCTION_TRACER_START, RETURN, 0},
};

static int find_site(struct elf_image *image, enum go_probe_kind kind,
		     const struct go_function_range *functions, struct go_probe_site *site)
{
	const struct go_function_range *function = &functions[wanted[kind].function];
	enum place place = wanted[kind].place;
	uint64_t callee = place == CALL ? functions[wanted[kind].callee].start : 0;
	uint64_t size = function->end - function->start;
	bool on_branch;
	size_t offset;
	uint8_t *code;
	int err;

	if (!function->start || size > MAX_FUNCTION_BYTES || (place == CALL && !callee))
		return -ENOENT;
	code = malloc(size);
	if (!code)
		return -ENOMEM;
	err = elf_image_read(image, function->start, code, size);
	/* A prologue of the register ABI: what is in registers elsewhere is known only then. */
	if (!err)
		err = probe_arch_find_entry(code, size, &offset, &on_branch);
	if (!err && place != PROLOGUE)
		on_branch = false;
	if (!err && place == CALL)
		err = probe_arch_find_call(code, size, function->start, callee, &offset);
	if (!err && place == RETURN)
		err = probe_arch_find_return(code, size, &offset);
	if (!err) {
		site->address = function->start + offset;
		site->on_branch = on_branch;
		err = elf_image_offset_of(image, site->address, &site->file_offset);
	}
	free(code);
	return err;
}

void probe_sites_find(struct elf_image *image,
		      const struct go_function_range functions[FUNCTION_COUNT],
		      struct go_probe_site sites[GO_PROBE_KIND_COUNT])
{
	for (size_t i = 0; i < GO_PROBE_KIND_COUNT; i++) {
		sites[i] = (struct go_probe_site){0};
		if (elf_image_machine(image) != probe_arch_machine)
			continue;
		if (find_site(image, (enum go_probe_kind)i, functions, &sites[i]))
			sites[i] = (struct go_probe_site){0};
		else
			sites[i].present = true;
	}
}
