/*
 * piece.c - what an image that is about to be loaded consists of, if there is PTX in it; and a copy
 * of that for --record-launches.
 *
 * Costs: a look at the head of each part.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>

#include "agent/load/load.h"
#include "agent/record/record.h"
#include "image/fatbin.h"

#define TEXT_MIN 16 /* bytes of the shortest text that could be a program */

static bool begins_with(const char *text, size_t n, const char *what)
{
	size_t m = strlen(what);

	return n >= m && !memcmp(text, what, m);
}

/* Is it text whose first words, after blanks and comments, are PTX's? */
static bool is_text(const char *p, size_t n)
{
	size_t look = n < 4096 ? n : 4096;

	if (look < TEXT_MIN || memchr(p, 0, TEXT_MIN))
		return false;
	return memmem(p, look, ".version", 8) && memmem(p, look, ".target", 7);
}

static bool has_text(const void *const *parts)
{
	for (; parts && *parts; parts++)
		if (fatbin_has(*parts, FATBIN_KIND_PTX))
			return true;
	return false;
}

bool load_piece_find(const struct load_image *im, struct load_piece *out)
{
	struct fatbin_wrapper w;
	uint32_t magic;
	const char *p = im->data;

	memset(out, 0, sizeof(*out));
	if (!p || (im->size && im->size < sizeof(w)))
		return false;
	memcpy(&magic, p, sizeof(magic));
	if (magic == FATBIN_WRAPPER_MAGIC) {
		memcpy(&w, p, sizeof(w));
		p = w.data;
		out->parts = w.version == 2 ? w.parts : NULL;
		if (!p)
			return false;
		memcpy(&magic, p, sizeof(magic));
	}
	out->data = p;
	if (magic == FATBIN_MAGIC) {
		out->size = fatbin_size(p);
		return out->size && (has_text(out->parts) || fatbin_has(p, FATBIN_KIND_PTX));
	}
	if (begins_with(p, 4, "\177ELF"))
		return false;
	out->size = strnlen(p, im->size ? im->size : SIZE_MAX);
	return is_text(p, out->size);
}

bool load_piece_copy(const struct load_image *im, struct record_image *out)
{
	struct load_piece p;
	char *at;

	memset(out, 0, sizeof(*out));
	if (!load_piece_find(im, &p))
		return false;
	out->n = p.size;
	for (const void *const *o = p.parts; o && *o; o++)
		out->n += fatbin_size(*o);
	out->has_parts = p.parts != NULL;
	out->bytes = at = malloc(out->n);
	if (!at)
		return false;
	memcpy(at, p.data, p.size);
	at += p.size;
	for (const void *const *o = p.parts; o && *o; o++) {
		memcpy(at, *o, fatbin_size(*o));
		at += fatbin_size(*o);
	}
	return true;
}
