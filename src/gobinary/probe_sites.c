/* SPDX-License-Identifier: Apache-2.0 */
/* Where probes may sit in one executable; see probe_sites.h. */
#include "gobinary/probe_sites.h"

#include <errno.h>
#include <stdlib.h>

#include "gobinary/elf_image.h"
#include "gobinary/probe_sites_arch.h"

/* (*tracer).Start takes 2 KiB; what is larger by far is not what it says it is. */
#define MAX_FUNCTION_BYTES 65536

static const struct {
	enum go_function_id function;
	enum go_function_id callee; /* FUNCTION_COUNT: the prologue is meant */
} wanted[GO_PROBE_KIND_COUNT] = {
	[GO_PROBE_RUNTIME_TRACE] = {FUNCTION_RUNTIME_TRACE, FUNCTION_COUNT},
	[GO_PROBE_WITH_VALUE] = {FUNCTION_TRACER_START, FUNCTION_WITH_VALUE},
	[GO_PROBE_NEW_RECORDING] = {FUNCTION_NEW_RECORDING, FUNCTION_COUNT},
	[GO_PROBE_NEWPROC_RUNQPUT] = {FUNCTION_NEWPROC_CLOSURE, FUNCTION_RUNQPUT},
};

static int find_site(struct elf_image *image, const struct go_function_range *function,
		     const struct go_function_range *callee, struct go_probe_site *site)
{
	uint64_t size = function->end - function->start;
	bool on_branch;
	size_t offset;
	uint8_t *code;
	int err;

	if (!function->start || size > MAX_FUNCTION_BYTES || (callee && !callee->start))
		return -ENOENT;
	code = malloc(size);
	if (!code)
		return -ENOMEM;
	err = elf_image_read(image, function->start, code, size);
	/* A prologue of the register ABI: what is in registers at a call is known only then. */
	if (!err)
		err = probe_arch_find_entry(code, size, &offset, &on_branch);
	if (!err && callee) {
		on_branch = false;
		err = probe_arch_find_call(code, size, function->start, callee->start, &offset);
	}
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
		const struct go_function_range *callee =
			wanted[i].callee < FUNCTION_COUNT ? &functions[wanted[i].callee] : NULL;

		sites[i] = (struct go_probe_site){0};
		if (elf_image_machine(image) != probe_arch_machine)
			continue;
		if (find_site(image, &functions[wanted[i].function], callee, &sites[i]))
			sites[i] = (struct go_probe_site){0};
		else
			sites[i].present = true;
	}
}
