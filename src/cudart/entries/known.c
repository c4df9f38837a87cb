/*
 * known.c - recognises the static runtime by its code, in a file without symbols.
 *
 * The runtime is one object file with one section of code, so all its functions keep their
 * distances in every program. known.inc, which learn.c writes at build time from the toolkit's
 * libcudart_static.a, lists them, and some pieces of code that hold no address and so are the same
 * everywhere. Where the first piece is found and all others stand at their distances from it, the
 * functions do, too.
 *
 * Misses: runtimes of other versions than the toolkit that Collider was built with. Costs: one
 * search through the file's code.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cudart/entries/inner.h"

#include <string.h>

#include "cudart/entries/known.h"

static const struct entries_piece pieces[] = {
#define PIECE(at, ...) {at, {__VA_ARGS__}},
#define FUNCTION(name, at, bytes)
#include "cudart/entries/known.inc"
#undef PIECE
#undef FUNCTION
	{0, {0}}};

static const struct {
	const char *name;
	uint32_t at, bytes;
} functions[] = {
#define PIECE(at, ...)
#define FUNCTION(name, at, bytes) {name, at, bytes},
#include "cudart/entries/known.inc"
#undef PIECE
#undef FUNCTION
	{NULL, 0, 0}};

#define NPIECES (sizeof(pieces) / sizeof(*pieces) - 1)

/* Do all pieces stand at their places, the section's code beginning at `code` of n bytes? */
static bool is_runtime(const unsigned char *code, size_t n)
{
	for (size_t i = 0; i < NPIECES; i++)
		if (pieces[i].at > n || ENTRIES_PIECE > n - pieces[i].at ||
		    memcmp(code + pieces[i].at, pieces[i].bytes, ENTRIES_PIECE))
			return false;
	return true;
}

/* Where the runtime's code begins in these n bytes; NULL: it isn't there. */
static const unsigned char *find(const unsigned char *p, size_t n)
{
	const unsigned char *at = p;

	while (NPIECES && (at = memmem(at, n - (size_t)(at - p), pieces[0].bytes, ENTRIES_PIECE))) {
		if ((size_t)(at - p) >= pieces[0].at &&
		    is_runtime(at - pieces[0].at, n - ((size_t)(at - p) - pieces[0].at)))
			return at - pieces[0].at;
		at++;
	}
	return NULL;
}

bool entries_known(const struct entries_file *f,
		   bool (*visit)(void *ctx, const char *name, uint64_t at, uint64_t bytes),
		   void *ctx)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		const Elf64_Phdr *s = &f->segments[i];
		if (s->p_type != PT_LOAD || !(s->p_flags & PF_X) || s->p_offset > f->n ||
		    s->p_filesz > f->n - s->p_offset)
			continue;
		const unsigned char *code = f->p + s->p_offset, *at = find(code, s->p_filesz);
		if (!at)
			continue;
		uint64_t begin = s->p_vaddr + (uint64_t)(at - code);
		for (size_t k = 0; functions[k].name; k++)
			if (!visit(ctx, functions[k].name, begin + functions[k].at,
				   functions[k].bytes))
				break;
		return true;
	}
	return false;
}
