/*
 * code.c - machine code in an image that is loaded as it is: for the tables of sites that a program
 * of `collider nvcc` has in it.
 *
 * Packed code (nvcc packs what is large) is unpacked where toolchain/load.c didn't hand it over:
 * without PTX beside it, as -arch=native builds it. Misses: packed code whose table of names begins
 * after its first FRONT bytes. Costs: a look at each entry's head; of packed code those bytes, 4 ms
 * at most, and all of it where there are tables.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>

#include "agent/load/load.h"
#include "image/fatbin.h"
#include "image/kept.h"
#include "race/record.h"

#define FRONT (4u << 20)

/* Code for that device runs on it, and so does that for an older one with the same first digits. */
static bool runs_on(unsigned code, unsigned sm)
{
	return code / 10 == sm / 10 && code <= sm;
}

/* The names of an ELF file's symbols come first in what ptxas and nvlink write. */
static bool has_tables(const struct fatbin_entry *e)
{
	size_t n;
	char *front = fatbin_unpack_front(e, FRONT, &n);
	bool has = front && memmem(front, n, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX));

	free(front);
	return has;
}

/* The best entry for the device; kind 0: there is none. */
static struct fatbin_entry choose(const char *at, size_t left, unsigned sm)
{
	struct fatbin_entry e, best = {0};

	while (left && fatbin_entry_next(&at, &left, &e)) {
		if (e.kind == FATBIN_KIND_CODE && runs_on(e.sm, sm) && e.sm >= best.sm &&
		    (e.packed || image_elf_size(e.payload, e.bytes)))
			best = e;
	}
	return best;
}

/* ------------------------------------------------------------------------ */

bool load_find_code(const struct load_image *im, unsigned sm, struct load_other *out)
{
	struct fatbin_wrapper w;
	const char *p = im->data, *at, *why;
	size_t left;

	out->code = NULL;
	out->ncode = 0;
	if (!p || (im->size && im->size < sizeof(w)))
		return false;
	memcpy(&w, p, sizeof(w));
	if (w.magic == FATBIN_WRAPPER_MAGIC) {
		p = w.data;
		if (!p)
			return false;
	}
	if (!fatbin_size(p)) {
		out->code = p;
		out->ncode = image_elf_size(p, w.magic == FATBIN_WRAPPER_MAGIC ? 0 : im->size);
		return out->ncode != 0;
	}
	if (!fatbin_entry_first(p, fatbin_size(p), &at, &left))
		return false;
	struct fatbin_entry best = choose(at, left, sm);
	out->code = best.payload;
	out->ncode = best.bytes;
	if (best.packed) {
		out->unpacked = has_tables(&best) ? fatbin_unpack(&best, &out->ncode, &why) : NULL;
		out->code = out->unpacked;
		out->ncode = out->unpacked ? out->ncode : 0;
	}
	return out->ncode != 0;
}
