/*
 * fatbin.c - reads fat binaries: the container in which nvcc embeds device code.
 *
 * Entries (entry.c) are plain, zstd (flag 0x8000, the default of CUDA 13) or one raw LZ4 block
 * (0x2000: --compress-mode=speed, and older toolkits' default). NVIDIA does not document this; it
 * was derived from what nvcc 13.0 writes in each mode.
 *
 * Everything is bounds-checked and read by memcpy: the data may come from a
 * file. For fatbin_read the text's own .target decides, not the entry's header. Costs:
 * all PTX entries are unpacked to read that line; programs contain one or two.
 */
#include "image/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <zstd.h>

#include "ptx/ptx.h"

char *fatbin_unpack(const struct fatbin_entry *e, size_t *size, const char **why)
{
	bool is_packed = (e->flags & (FATBIN_FLAG_LZ4 | FATBIN_FLAG_ZSTD)) != 0;
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
static bool consider(const struct fatbin_entry *e, unsigned device, struct fatbin_ptx *best,
		     const char **why)
{
	struct fatbin_ptx ptx = {0};

	ptx.text = fatbin_unpack(e, &ptx.size, why);
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

enum fatbin_result fatbin_read(const void *data, size_t size, unsigned sm, struct fatbin_ptx *out,
			       const char **why)
{
	const char *at;
	size_t left;
	struct fatbin_entry e;

	memset(out, 0, sizeof(*out));
	*why = "no fat binary";
	if (!fatbin_is(data, size))
		return FATBIN_DAMAGED;
	*why = "a fat binary that is cut off";
	if (!fatbin_entry_first(data, size, &at, &left))
		return FATBIN_DAMAGED;
	while (left) {
		*why = "a fat binary with a damaged entry";
		if (!fatbin_entry_next(&at, &left, &e) ||
		    (e.kind == FATBIN_KIND_PTX && !consider(&e, sm, out, why))) {
			free(out->text);
			memset(out, 0, sizeof(*out));
			return FATBIN_DAMAGED;
		}
	}
	return out->text ? FATBIN_FOUND : FATBIN_NO_PTX;
}
