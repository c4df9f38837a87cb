/*
 * unpack.c - what an image of a fat binary holds, unpacked.
 *
 * Entries (entry.c) are plain, zstd (flag 0x8000, the default of CUDA 13) or one raw LZ4 block
 * (0x2000: --compress-mode=speed, and older toolkits' default). NVIDIA does not document this; it
 * was derived from what nvcc 13.0 writes in each mode: machine code, too, is packed where it is
 * large. Costs: about a millisecond for each MB.
 */
#include "image/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <zstd.h>

static bool is_packed(const struct fatbin_entry *e)
{
	return (e->flags & (FATBIN_FLAG_LZ4 | FATBIN_FLAG_ZSTD)) != 0;
}

/* The first n bytes of a stream of zstd, or all that there are; 0: damaged. */
static size_t zstd_front(char *to, size_t n, const char *from, size_t packed)
{
	ZSTD_DCtx *c = ZSTD_createDCtx();
	ZSTD_inBuffer in = {from, packed, 0};
	ZSTD_outBuffer out = {to, n, 0};
	size_t before = 1, left = 1;

	/* Ends where a step brings nothing. */
	while (c && left && out.pos < n && before != out.pos + in.pos) {
		before = out.pos + in.pos;
		left = ZSTD_decompressStream(c, &out, &in);
		if (ZSTD_isError(left))
			break;
	}
	ZSTD_freeDCtx(c);
	return ZSTD_isError(left) ? 0 : out.pos;
}

/* ------------------------------------------------------------------------ */

char *fatbin_unpack(const struct fatbin_entry *e, size_t *size, const char **why)
{
	uint64_t n = is_packed(e) ? e->unpacked : e->bytes;
	char *text;

	*why = "a PTX entry with an impossible size";
	if (n > FATBIN_TEXT_MAX || e->packed > e->bytes)
		return NULL;
	*why = "out of memory";
	text = malloc((size_t)n + 1);
	if (!text)
		return NULL;
	size_t packed = e->packed ? e->packed : e->bytes;
	if (!is_packed(e)) {
		memcpy(text, e->payload, (size_t)n);
	} else if (e->flags & FATBIN_FLAG_ZSTD) {
		size_t got = ZSTD_decompress(text, (size_t)n, e->payload, packed);
		if (ZSTD_isError(got))
			goto damaged;
		n = got;
	} else {
		int got = packed > INT32_MAX
				  ? -1
				  : LZ4_decompress_safe(e->payload, text, (int)packed, (int)n);
		if (got < 0)
			goto damaged;
		n = (uint64_t)got;
	}
	/* Plain text is padded with zeros, at its front in CUDA 13 with newlines. */
	while (e->kind == FATBIN_KIND_PTX && n && text[n - 1] == 0)
		n--;
	text[n] = 0;
	*size = (size_t)n;
	return text;
damaged:
	*why = "a compressed PTX entry that does not unpack";
	free(text);
	return NULL;
}

char *fatbin_unpack_front(const struct fatbin_entry *e, size_t most, size_t *size)
{
	uint64_t n = is_packed(e) ? e->unpacked : e->bytes;
	size_t packed = e->packed ? e->packed : e->bytes;
	char *front;
	int got;

	*size = 0;
	if (n > FATBIN_TEXT_MAX || e->packed > e->bytes || packed > INT32_MAX)
		return NULL;
	if (n > most)
		n = most;
	front = malloc((size_t)n + 1);
	if (!front)
		return NULL;
	if (!is_packed(e)) {
		memcpy(front, e->payload, (size_t)n);
		*size = (size_t)n;
	} else if (e->flags & FATBIN_FLAG_ZSTD) {
		*size = zstd_front(front, (size_t)n, e->payload, packed);
	} else {
		got = LZ4_decompress_safe_partial(e->payload, front, (int)packed, (int)n, (int)n);
		*size = got > 0 ? (size_t)got : 0;
	}
	return front;
}
