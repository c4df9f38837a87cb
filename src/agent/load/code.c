/*
 * code.c - machine code in an image that is loaded as it is: for the tables of sites that a program
 * of `collider nvcc` has in it.
 *
 * Misses: what is compressed (nvcc leaves machine code as it is unless it is asked to), of which
 * toolchain/load.c hands over what has PTX beside it. Costs: a look at each entry's head.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <string.h>

#include "agent/load/load.h"
#include "image/fatbin.h"
#include "image/kept.h"

/* Code for that device runs on it, and so does that for an older one with the same first digits. */
static bool runs_on(unsigned code, unsigned sm)
{
	return code / 10 == sm / 10 && code <= sm;
}

/* ------------------------------------------------------------------------ */

bool load_find_code(const struct load_image *im, unsigned sm, const void **code, size_t *size)
{
	struct fatbin_wrapper w;
	struct fatbin_entry e;
	unsigned best = 0;
	const char *p = im->data, *at;
	size_t left;

	*code = NULL;
	*size = 0;
	if (!p || (im->size && im->size < sizeof(w)))
		return false;
	memcpy(&w, p, sizeof(w));
	if (w.magic == FATBIN_WRAPPER_MAGIC) {
		p = w.data;
		if (!p)
			return false;
	}
	if (!fatbin_size(p)) {
		*code = p;
		*size = image_elf_size(p, w.magic == FATBIN_WRAPPER_MAGIC ? 0 : im->size);
		return *size != 0;
	}
	if (!fatbin_entry_first(p, fatbin_size(p), &at, &left))
		return false;
	while (left && fatbin_entry_next(&at, &left, &e)) {
		if (e.kind != FATBIN_KIND_CODE || e.packed || !runs_on(e.sm, sm) || e.sm < best ||
		    !image_elf_size(e.payload, e.bytes))
			continue;
		best = e.sm;
		*code = e.payload;
		*size = e.bytes;
	}
	return *size != 0;
}
