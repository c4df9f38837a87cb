/*
 * site_read.c - reads a module's site table, whatever its bytes are.
 *
 * The bytes come from a program's memory, so nothing is trusted: sizes are
 * bounded before they are used, the content hash must match, and elements are
 * copied out (a hostile offset may be unaligned). After a successful decode
 * every getter is safe for every argument.
 *
 * Cost: one decompression and one pass of FNV over the image (~20 ms for 10 MB).
 */
#include "race/race.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* 1.5 million sites with their texts; more is damage, not a module. */
#define IMAGE_MAX ((size_t)512 << 20)

static bool section_is_inside(size_t size, uint32_t offset, uint32_t n, size_t elem)
{
	return offset >= sizeof(struct race_site_header) && offset <= size &&
	       (uint64_t)n * elem <= size - offset;
}

/* Checks the header; returns what is wrong or NULL. */
static const char *header_check(const struct race_sites *t)
{
	const struct race_site_header *h = &t->h;
	struct race_site_header zeroed = *h;

	if (h->magic != RACE_SITE_MAGIC)
		return "the image is no site table";
	if (h->version != RACE_SITE_VERSION)
		return "the image has an unknown version";
	zeroed.hash = 0;
	uint64_t hash = base_hash(&zeroed, sizeof(zeroed), BASE_FNV_INIT);
	if (base_hash(t->image + sizeof(zeroed), t->size - sizeof(zeroed), hash) != h->hash)
		return "the content doesn't match its hash";
	if (!section_is_inside(t->size, h->sites, h->nsites, sizeof(struct race_site)) ||
	    !section_is_inside(t->size, h->frames, h->nframes, sizeof(struct race_frame)) ||
	    !section_is_inside(t->size, h->unchecked, h->nunchecked,
			       sizeof(struct race_unchecked)) ||
	    !section_is_inside(t->size, h->strings, h->strings_bytes, 1))
		return "a section lies outside the image";
	if (!h->strings_bytes || t->image[h->strings + h->strings_bytes - 1])
		return "the strings don't end";
	return NULL;
}

/* Unpacks the image after the blob header into t. */
static const char *image_unpack(const struct race_site_blob *b, const unsigned char *stored,
				struct race_sites *t)
{
	if (b->raw_bytes < sizeof(struct race_site_header) || b->raw_bytes > IMAGE_MAX)
		return "the image has an impossible size";
	if (!(b->flags & 1) && b->stored_bytes != b->raw_bytes)
		return "the image has two sizes";
	/* Before memory is allocated: the frame must declare the same size. */
	if ((b->flags & 1) && ZSTD_getFrameContentSize(stored, b->stored_bytes) != b->raw_bytes)
		return "the compressed image has another size than its header says";
	t->size = b->raw_bytes;
	t->image = malloc(t->size);
	if (!t->image)
		return "not enough memory for the image";
	if (!(b->flags & 1))
		memcpy(t->image, stored, t->size);
	else if (ZSTD_decompress(t->image, t->size, stored, b->stored_bytes) != t->size)
		return "the compressed image is damaged";
	memcpy(&t->h, t->image, sizeof(t->h));
	return NULL;
}

const char *race_sites_decode(const void *blob, size_t size, struct race_sites *t)
{
	struct race_site_blob b;
	const char *wrong = NULL;

	memset(t, 0, sizeof(*t));
	if (size < sizeof(b))
		return "too short for a site table";
	memcpy(&b, blob, sizeof(b));
	if (b.magic != RACE_SITE_MAGIC)
		return "no site table";
	if (b.version != RACE_SITE_VERSION || (b.flags & ~1u))
		return "a site table of an unknown version";
	if (b.stored_bytes > size - sizeof(b))
		return "the site table is cut off";
	wrong = image_unpack(&b, (const unsigned char *)blob + sizeof(b), t);
	if (!wrong)
		wrong = header_check(t);
	if (!wrong && t->h.hash != b.hash)
		wrong = "the image has another hash than its header says";
	if (wrong)
		race_sites_close(t);
	return wrong;
}

void race_sites_close(struct race_sites *t)
{
	free(t->image);
	memset(t, 0, sizeof(*t));
}

bool race_sites_get(const struct race_sites *t, uint32_t index, struct race_site *out)
{
	if (index >= t->h.nsites)
		return false;
	memcpy(out, t->image + t->h.sites + (size_t)index * sizeof(*out), sizeof(*out));
	return true;
}

bool race_sites_get_frame(const struct race_sites *t, uint32_t index, struct race_frame *out)
{
	if (index >= t->h.nframes)
		return false;
	memcpy(out, t->image + t->h.frames + (size_t)index * sizeof(*out), sizeof(*out));
	return true;
}

bool race_sites_get_unchecked(const struct race_sites *t, uint32_t i, struct race_unchecked *out)
{
	if (i >= t->h.nunchecked)
		return false;
	memcpy(out, t->image + t->h.unchecked + (size_t)i * sizeof(*out), sizeof(*out));
	return true;
}

const char *race_sites_text(const struct race_sites *t, uint32_t offset)
{
	return offset < t->h.strings_bytes ? (const char *)t->image + t->h.strings + offset : "";
}
