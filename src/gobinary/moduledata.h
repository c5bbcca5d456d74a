/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.firstmoduledata of a Go executable: where text, types and other tables lie. */
#ifndef GOBINARY_MODULEDATA_H
#define GOBINARY_MODULEDATA_H

#include <stdint.h>

struct elf_image;

/* Virtual addresses of the file (load bias 0); 0: the version has no such field. */
struct moduledata {
	uint64_t address;
	uint64_t text, etext;
	uint64_t types, etypes;
	uint64_t gofunc;
	uint64_t data, ebss; /* variables that may hold pointers, zeroed ones included */
	/* Interface tables: up to Go 1.26 addresses of them, from 1.27 they themselves in a row. */
	uint64_t itab_links, itab_link_count;
	uint64_t itabs, itabs_end;
};

/* `pclntab` from pclntab_find. -ENOENT, -EINVAL. */
int moduledata_find(struct elf_image *image, uint64_t pclntab, struct moduledata *out);

#endif
