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
#include <elf.h>
#include <string.h>

#include "agent/load/load.h"
#include "image/fatbin.h"

/* Bytes of the ELF file at p, as its own tables say; 0: it is none. `most`: 0: not known. */
static size_t elf_bytes(const char *p, size_t most)
{
	Elf64_Ehdr e;
	size_t size;

	if (most && most < sizeof(e))
		return 0;
	memcpy(&e, p, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_shentsize != sizeof(Elf64_Shdr) || (most && e.e_shoff > most))
		return 0;
	size = e.e_shoff + (size_t)e.e_shnum * sizeof(Elf64_Shdr);
	if (e.e_phoff && e.e_phoff + (size_t)e.e_phnum * e.e_phentsize > size)
		size = e.e_phoff + (size_t)e.e_phnum * e.e_phentsize;
	for (unsigned i = 0; i < e.e_shnum && (!most || size <= most); i++) {
		Elf64_Shdr s;
		memcpy(&s, p + e.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_type != SHT_NOBITS && s.sh_offset + s.sh_size > size)
			size = s.sh_offset + s.sh_size;
	}
	return !most || size <= most ? size : 0;
}

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
		*size = elf_bytes(p, w.magic == FATBIN_WRAPPER_MAGIC ? 0 : im->size);
		return *size != 0;
	}
	if (!fatbin_entry_first(p, fatbin_size(p), &at, &left))
		return false;
	while (left && fatbin_entry_next(&at, &left, &e)) {
		if (e.kind != FATBIN_KIND_CODE || e.packed || !runs_on(e.sm, sm) || e.sm < best ||
		    !elf_bytes(e.payload, e.bytes))
			continue;
		best = e.sm;
		*code = e.payload;
		*size = e.bytes;
	}
	return *size != 0;
}
