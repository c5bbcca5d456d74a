/* SPDX-License-Identifier: Apache-2.0 */
/* What the Go linker notes in an executable: its version, its modules, its settings, its build id.
 */
#ifndef GOBINARY_BUILD_INFO_H
#define GOBINARY_BUILD_INFO_H

#include <stddef.h>

struct elf_image;

/* Cleaned strings (no control characters, valid UTF-8), cut at their size; "": unknown. */
struct build_info {
	char go_version[32];	  /* "go1.26.8", without experiments */
	char main_path[256];	  /* package path of main */
	char module_version[128]; /* of the main module; may be "(devel)" */
	char vcs_revision[64];
	char sdk_version[64]; /* of go.opentelemetry.io/otel/sdk, replacements honoured */
};

/*
 * By section .go.buildinfo, else by its magic in the data segments. -ENOENT none (not Go, or Go
 * before 1.13), -EINVAL, -ENOMEM.
 */
int build_info_read(struct elf_image *image, struct build_info *out);
/* Go's build id from its ELF note. -ENOENT. */
int build_info_read_go_build_id(struct elf_image *image, char *to, size_t size);

#endif
