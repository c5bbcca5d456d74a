/* SPDX-License-Identifier: Apache-2.0 */
/* Where runtime.g and runtime.m keep what spanprof reads; see runtime_layout.h. */
#include "gobinary/runtime_layout.h"

#include <stddef.h>

#include "gobinary/go_version.h"
#include "gobinary/rtypes.h"

/* 64-bit Go, the same on amd64 and arm64. Source: DWARF of each minor. */
static const struct {
	int first_minor;
	struct go_runtime_offsets offsets;
} table[] = {
	{26,
	 {.g_m = 48,
	  .g_goid = 152,
	  .g_stack_hi = 8,
	  .g_status = 144,
	  .g_labels = 352,
	  .g_sched_sp = 56,
	  .g_sched_pc = 64,
	  .g_sched_bp = 96,
	  .g_syscall_sp = 104,
	  .g_syscall_pc = 112,
	  .g_syscall_bp = 120,
	  .g_wait_reason = 176,
	  .m_curg = 184,
	  .m_thread = 64,
	  .m_vdso_sp = 896}},
	{25,
	 {.g_m = 48,
	  .g_goid = 152,
	  .g_stack_hi = 8,
	  .g_status = 144,
	  .g_labels = 344,
	  .g_sched_sp = 56,
	  .g_sched_pc = 64,
	  .g_sched_bp = 96,
	  .g_syscall_sp = 104,
	  .g_syscall_pc = 112,
	  .g_syscall_bp = 120,
	  .g_wait_reason = 176,
	  .m_curg = 184,
	  .m_thread = 64,
	  .m_vdso_sp = 896}},
	{23,
	 {.g_m = 48,
	  .g_goid = 160,
	  .g_stack_hi = 8,
	  .g_status = 152,
	  .g_labels = 352,
	  .g_sched_sp = 56,
	  .g_sched_pc = 64,
	  .g_sched_bp = 104,
	  .g_syscall_sp = 112,
	  .g_syscall_pc = 120,
	  .g_syscall_bp = 128,
	  .g_wait_reason = 184,
	  .m_curg = 192,
	  .m_thread = 72,
	  .m_vdso_sp = 904}},
	{22,
	 {.g_m = 48,
	  .g_goid = 152,
	  .g_stack_hi = 8,
	  .g_status = 144,
	  .g_labels = 344,
	  .g_sched_sp = 56,
	  .g_sched_pc = 64,
	  .g_sched_bp = 104,
	  .g_syscall_sp = 112,
	  .g_syscall_pc = 120,
	  .g_wait_reason = 176,
	  .m_curg = 192,
	  .m_thread = 72,
	  .m_vdso_sp = 1120}},
	{21,
	 {.g_m = 48,
	  .g_goid = 152,
	  .g_stack_hi = 8,
	  .g_status = 144,
	  .g_labels = 344,
	  .g_sched_sp = 56,
	  .g_sched_pc = 64,
	  .g_sched_bp = 104,
	  .g_syscall_sp = 112,
	  .g_syscall_pc = 120,
	  .g_wait_reason = 176,
	  .m_curg = 192,
	  .m_thread = 72,
	  .m_vdso_sp = 808}},
	{0,
	 {.g_m = 48,
	  .g_goid = 152,
	  .g_stack_hi = 8,
	  .g_status = 144,
	  .g_labels = 360,
	  .g_sched_sp = 56,
	  .g_sched_pc = 64,
	  .g_sched_bp = 104,
	  .g_syscall_sp = 112,
	  .g_syscall_pc = 120,
	  .g_wait_reason = 176,
	  .m_curg = 192,
	  .m_thread = 72,
	  .m_vdso_sp = 808}},
};
/* Beyond this minor the newest row is a guess. */
#define NEWEST_MINOR 27
/* Nothing that is read lies further in. */
#define MAX_OFFSET 4096

static void find_optional(struct elf_image *image, uint64_t type, const char *name,
			  uint16_t *offset)
{
	if (rtypes_find_field(image, type, name, offset, NULL) || *offset > MAX_OFFSET ||
	    *offset & 7)
		*offset = 0;
}

static int from_rtypes(struct elf_image *image, uint64_t g, uint64_t m,
		       struct go_runtime_offsets *out)
{
	const struct {
		uint64_t type;
		const char *outer, *inner;
		uint16_t *to;
	} fields[] = {
		{g, "m", NULL, &out->g_m},
		{g, "goid", NULL, &out->g_goid},
		{g, "stack", "hi", &out->g_stack_hi},
		{g, "sched", "sp", &out->g_sched_sp},
		{g, "sched", "pc", &out->g_sched_pc},
		{g, "sched", "bp", &out->g_sched_bp},
		{g, "syscallsp", NULL, &out->g_syscall_sp},
		{g, "syscallpc", NULL, &out->g_syscall_pc},
		{m, "curg", NULL, &out->m_curg},
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(fields) / sizeof(*fields); i++) {
		if (fields[i].inner)
			err = rtypes_find_nested(image, fields[i].type, fields[i].outer,
						 fields[i].inner, fields[i].to);
		else
			err = rtypes_find_field(image, fields[i].type, fields[i].outer,
						fields[i].to, NULL);
		if (!err && (*fields[i].to > MAX_OFFSET || *fields[i].to & 7))
			err = -1;
	}
	if (err)
		return err;
	/* A structure around 32 bits since Go 1.20. What a version lacks stays 0: unknown. */
	find_optional(image, g, "atomicstatus", &out->g_status);
	find_optional(image, g, "labels", &out->g_labels);
	find_optional(image, g, "syscallbp", &out->g_syscall_bp);
	find_optional(image, g, "waitreason", &out->g_wait_reason);
	find_optional(image, m, "procid", &out->m_thread);
	find_optional(image, m, "vdsoSP", &out->m_vdso_sp);
	return 0;
}

void runtime_layout_find(struct elf_image *image, uint64_t g_type, uint64_t m_type,
			 const char *go_version, struct go_runtime_offsets *out)
{
	int minor = go_version_minor(go_version);
	size_t row = 0;

	*out = (struct go_runtime_offsets){.source = GO_OFFSETS_RTYPES};
	if (g_type && m_type && !from_rtypes(image, g_type, m_type, out))
		return;
	while (minor >= 0 && minor < table[row].first_minor)
		row++;
	*out = table[row].offsets;
	out->source = minor < 0 || minor > NEWEST_MINOR ? GO_OFFSETS_NEWEST : GO_OFFSETS_TABLE;
}
