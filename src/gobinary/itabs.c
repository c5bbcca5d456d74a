/* SPDX-License-Identifier: Apache-2.0 */
/* Interface tables as internal/abi/iface.go lays them out; see itabs.h. */
#include "gobinary/itabs.h"

#include <stddef.h>

#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/rtypes.h"

/* abi.ITab: interface, type, hash, one word per method but at least one. */
#define ITAB_TYPE	8
#define ITAB_METHODS	24
#define INTERFACE_COUNT 64 /* length of abi.InterfaceType.Methods */

#define MAX_ITABS   65536 /* a server of 29 MB has 1.4 thousand */
#define MAX_METHODS 4096
#define LINKS	    64 /* read at once */

struct search {
	struct elf_image *image;
	const struct moduledata *module;
	uint64_t span, context; /* types */
	struct go_itabs *out;
};

static void add(uint64_t *to, size_t *count, size_t max, uint64_t itab)
{
	for (size_t i = 0; i < *count; i++)
		if (to[i] == itab)
			return;
	if (*count < max)
		to[(*count)++] = itab;
}

/* `*interface` is the table's, also when the table is none of those looked for. */
static int look(struct search *s, uint64_t itab, uint64_t *interface)
{
	uint64_t words[2];
	int err = elf_image_read_words(s->image, itab, words, 2);

	if (err)
		return err;
	*interface = words[0];
	if (s->span && words[1] == s->span)
		add(s->out->span, &s->out->span_count, GO_SPAN_ITABS_MAX, itab);
	if (s->context && words[0] == s->context &&
	    rtypes_begins_with(s->image, s->module, words[1], "context", s->context))
		add(s->out->context, &s->out->context_count, GO_CONTEXT_ITABS_MAX, itab);
	return 0;
}

/* Up to Go 1.26: moduledata.itablinks. */
static void look_through_links(struct search *s)
{
	uint64_t left = s->module->itab_link_count, at = s->module->itab_links;

	left = left < MAX_ITABS ? left : MAX_ITABS;
	while (left) {
		size_t count = left < LINKS ? (size_t)left : LINKS;
		uint64_t links[LINKS], interface;

		if (elf_image_read_words(s->image, at, links, count))
			return;
		for (size_t i = 0; i < count; i++)
			if (look(s, links[i], &interface))
				return;
		at += count * sizeof(*links);
		left -= count;
	}
}

/* From Go 1.27: one behind the other, each as long as its interface has methods. */
static void look_through_row(struct search *s)
{
	uint64_t at = s->module->itabs, last = 0, methods = 0;

	for (size_t i = 0; i < MAX_ITABS && at < s->module->itabs_end; i++) {
		uint64_t interface;

		if (look(s, at, &interface) ||
		    (interface != last && elf_image_read(s->image, interface + INTERFACE_COUNT,
							 &methods, sizeof(methods))) ||
		    methods > MAX_METHODS)
			return;
		last = interface;
		at += ITAB_METHODS + 8 * (methods ? methods : 1);
	}
}

void itabs_find(struct elf_image *image, const struct moduledata *module, uint64_t span,
		uint64_t context, struct go_itabs *out)
{
	struct search s = {
		.image = image, .module = module, .span = span, .context = context, .out = out};

	*out = (struct go_itabs){0};
	if (!span && !context)
		return;
	look_through_links(&s);
	look_through_row(&s);
}
