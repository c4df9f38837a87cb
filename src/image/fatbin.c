/*
 * fatbin.c - reads fat binaries: the container in which nvcc embeds device code.
 *
 * A 16-byte header (magic, version, header size, payload size), then entries,
 * each with a header of its own: kind (1 PTX, 2 ELF), sizes, target, flags.
 * Payloads are plain, zstd (flag 0x8000, the default of CUDA 13) or one raw
 * LZ4 block (0x2000: --compress-mode=speed, and older toolkits' default).
 * NVIDIA does not document this; it was derived from what nvcc 13.0 writes in each mode.
 *
 * Everything is bounds-checked and read by memcpy: the data may come from a
 * file. The target in an entry's header only narrows the choice; the text's
 * own .target decides, for the header doesn't distinguish sm_90a from sm_90. Costs:
 * all PTX entries are unpacked to read that line; programs contain one or two.
 */
#include "image/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <zstd.h>

#include "ptx/ptx.h"

#define KIND_PTX  1u
#define FLAG_LZ4  0x2000u
#define FLAG_ZSTD 0x8000u

#define HEADER_BYTES 16u
#define ENTRY_BYTES  64u

struct entry {
	const char *payload;
	size_t bytes; /* of the payload */
	unsigned kind, sm;
	uint32_t packed; /* compressed bytes, without padding; 0: not compressed */
	uint64_t flags, unpacked;
};

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

/* The entry at p of `left` bytes. Returns its whole size, 0: damaged. */
static size_t entry_read(const char *p, size_t left, struct entry *e)
{
	if (left < ENTRY_BYTES)
		return 0;
	uint32_t header = get32(p + 4);
	uint64_t bytes = get64(p + 8);
	if (header < ENTRY_BYTES || header > left || bytes > left - header)
		return 0;
	e->kind = get16(p);
	e->payload = p + header;
	e->bytes = (size_t)bytes;
	e->packed = get32(p + 16);
	e->sm = get32(p + 28);
	e->flags = get64(p + 40);
	e->unpacked = get64(p + 56);
	return header + (size_t)bytes;
}

/* The text of a PTX entry; NULL sets *why. */
static char *unpack(const struct entry *e, size_t *size, const char **why)
{
	bool is_packed = (e->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
	uint64_t n = is_packed ? e->unpacked : e->bytes;
	char *text;

	*why = "a PTX entry with an impossible size";
	if (n > FATBIN_TEXT_MAX || e->packed > e->bytes)
		return NULL;
	*why = "out of memory";
	text = malloc((size_t)n + 1);
	if (!text)
		return NULL;
	size_t packed = e->packed ? e->packed : e->bytes;
	if (!is_packed) {
		memcpy(text, e->payload, (size_t)n);
	} else if (e->flags & FLAG_ZSTD) {
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
	while (n && text[n - 1] == 0)
		n--;
	text[n] = 0;
	*size = (size_t)n;
	return text;
damaged:
	*why = "a compressed PTX entry that does not unpack";
	free(text);
	return NULL;
}

/* Family- and architecture-specific code runs on its own version only. */
static bool is_fit(const struct fatbin_ptx *p, unsigned device)
{
	return p->sm <= device && (!p->suffix || p->sm == device);
}

static bool is_better(const struct fatbin_ptx *p, const struct fatbin_ptx *best, unsigned device)
{
	if (!best->text || is_fit(p, device) != is_fit(best, device))
		return !best->text || is_fit(p, device);
	if (is_fit(p, device))
		return p->sm > best->sm || (p->sm == best->sm && p->suffix && !best->suffix);
	return p->sm < best->sm || (p->sm == best->sm && !p->suffix && best->suffix);
}

/* Takes the entry's text when it is better than what *best holds. False: damaged. */
static bool consider(const struct entry *e, unsigned device, struct fatbin_ptx *best,
		     const char **why)
{
	struct fatbin_ptx ptx = {0};

	ptx.text = unpack(e, &ptx.size, why);
	if (!ptx.text)
		return false;
	if (!ptx_read_head(ptx.text, &ptx.sm, &ptx.suffix) || !ptx.sm ||
	    !is_better(&ptx, best, device)) {
		free(ptx.text);
		return true;
	}
	free(best->text);
	*best = ptx;
	return true;
}

/* ------------------------------------------------------------------------ */

bool fatbin_is(const void *data, size_t size)
{
	return data && size >= HEADER_BYTES && get32(data) == FATBIN_MAGIC;
}

size_t fatbin_size(const void *data)
{
	if (!fatbin_is(data, HEADER_BYTES))
		return 0;
	const char *p = data;
	uint64_t n = get64(p + 8);
	return n > SIZE_MAX - UINT16_MAX ? 0 : get16(p + 6) + (size_t)n;
}

enum fatbin_result fatbin_read(const void *data, size_t size, unsigned sm, struct fatbin_ptx *out,
			       const char **why)
{
	const char *p = data;
	struct entry e;

	memset(out, 0, sizeof(*out));
	*why = "no fat binary";
	if (!fatbin_is(data, size))
		return FATBIN_DAMAGED;
	size_t header = get16(p + 6);
	uint64_t left = get64(p + 8);
	*why = "a fat binary that is cut off";
	if (header < HEADER_BYTES || header > size || left > size - header)
		return FATBIN_DAMAGED;
	p += header;
	while (left) {
		size_t n = entry_read(p, (size_t)left, &e);
		*why = "a fat binary with a damaged entry";
		if (!n || (e.kind == KIND_PTX && !consider(&e, sm, out, why))) {
			free(out->text);
			memset(out, 0, sizeof(*out));
			return FATBIN_DAMAGED;
		}
		p += n;
		left -= n;
	}
	return out->text ? FATBIN_FOUND : FATBIN_NO_PTX;
}
