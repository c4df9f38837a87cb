/*
 * entry.c - the images of a fat binary, one after the other; nothing is unpacked.
 *
 * A 16-byte header (magic, version, header size, payload size), then entries, each with a header
 * of its own: kind (1 PTX, 2 machine code), sizes, target, flags, and where the source's name and
 * options for ptxas lie in it (-maxrregcount=24 --generate-line-info). NVIDIA does not document
 * this; it was derived from what nvcc 13.0 writes. Everything is bounds-checked and read by
 * memcpy.
 */
#include "image/fatbin.h"

#include <string.h>

#define ENTRY_BYTES 64u

static uint16_t get16(const char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t get32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* A text in the entry's header: two words, which lie in it as well, say where, and how long. */
static void read_text(const char *p, uint32_t header, size_t words, const char **text, size_t *n)
{
	*text = "";
	*n = 0;
	if (words < 32 || words > header || header - words < 8)
		return;
	uint32_t from = get32(p + words), size = get32(p + words + 4);
	if (from < ENTRY_BYTES || from > header || size > header - from)
		return;
	*text = p + from;
	*n = size;
}

bool fatbin_is(const void *data, size_t size)
{
	return data && size >= FATBIN_HEADER_BYTES && get32(data) == FATBIN_MAGIC;
}

size_t fatbin_size(const void *data)
{
	if (!fatbin_is(data, FATBIN_HEADER_BYTES))
		return 0;
	const char *p = data;
	uint64_t n = get64(p + 8);
	return n > SIZE_MAX - UINT16_MAX ? 0 : get16(p + 6) + (size_t)n;
}

bool fatbin_entry_first(const void *data, size_t size, const char **at, size_t *left)
{
	const char *p = data;

	if (!fatbin_is(data, size))
		return false;
	size_t header = get16(p + 6);
	uint64_t n = get64(p + 8);
	if (header < FATBIN_HEADER_BYTES || header > size || n > size - header)
		return false;
	*at = p + header;
	*left = (size_t)n;
	return true;
}

bool fatbin_entry_next(const char **at, size_t *left, struct fatbin_entry *e)
{
	const char *p = *at;

	if (*left < ENTRY_BYTES)
		return false;
	uint32_t header = get32(p + 4);
	uint64_t bytes = get64(p + 8);
	if (header < ENTRY_BYTES || header > *left || bytes > *left - header)
		return false;
	e->kind = get16(p);
	e->payload = p + header;
	e->bytes = (size_t)bytes;
	e->packed = get32(p + 16);
	e->sm = get32(p + 28);
	e->flags = get64(p + 40);
	e->unpacked = get64(p + 56);
	read_text(p, header, get32(p + 20), &e->options, &e->noptions);
	read_text(p, header, 32, &e->name, &e->nname);
	*at += header + bytes;
	*left -= header + (size_t)bytes;
	return true;
}

bool fatbin_has(const void *data, unsigned kind)
{
	struct fatbin_entry e;
	const char *at;
	size_t left;

	if (!fatbin_entry_first(data, fatbin_size(data), &at, &left))
		return false;
	while (left && fatbin_entry_next(&at, &left, &e))
		if (e.kind == kind)
			return true;
	return false;
}
