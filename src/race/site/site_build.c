/*
 * site_build.c - writes a module's site table.
 *
 * Strings are entered in a uthash table whose nodes lie in an arena and hold the offset that the
 * string will have; the image is put together once, at the end. Frames and unchecked entries are
 * shared the same way: an inlined template gives thousands of sites with one chain.
 *
 * Cost: 100,000 sites with 100,000 different PTX texts (7 MB) take about 40 ms of a
 * slow core to enter and 30 ms to finish. A table without sites is valid: its
 * unchecked list is still wanted.
 */
#include "race/site/site_build.h"

#include <stdlib.h>
#include <string.h>
#include "base/table.h"
#include <zstd.h>

#include "base/base.h"

/* Growing a table misses the cache for every node: start at the size that a usual module needs. */
#undef HASH_INITIAL_NUM_BUCKETS
#undef HASH_INITIAL_NUM_BUCKETS_LOG2
#define HASH_INITIAL_NUM_BUCKETS      4096U
#define HASH_INITIAL_NUM_BUCKETS_LOG2 12U

/* On site tables level 1 is as small as level 3 (its matches are short) and takes half the time. */
#define ZSTD_LEVEL 1

/* One key of any of the three tables: bytes at `key`, value `value`. */
struct entry {
	UT_hash_handle hh;
	uint32_t value;
};

struct unchecked_key {
	uint32_t what, why, func;
};

/* What the detector at work has counted of one reason. */
struct unchecked_now {
	uint32_t count;
	unsigned detector;
};

struct race_site_builder {
	struct base_arena arena; /* nodes and copies of their keys */
	struct entry *strings, *frames, *unchecked;
	size_t text; /* bytes of all strings with their NULs; offset 0 is "" */
	BASE_VEC(struct race_site) sites;
	BASE_VEC(struct race_frame) frame;
	BASE_VEC(struct race_unchecked) skip;
	BASE_VEC(struct unchecked_now) now; /* one for each of skip */
	unsigned detector;		    /* how many have begun */
	uint16_t flags;
};

/* Finds `key` (n bytes) or enters it with `value`; returns the value now in the table. */
static uint32_t entry_intern(struct race_site_builder *b, struct entry **table, const void *key,
			     size_t n, uint32_t value)
{
	struct entry *e;
	unsigned hash;

	HASH_VALUE(key, n, hash);
	HASH_FIND_BYHASHVALUE(hh, *table, key, n, hash, e);
	if (e)
		return e->value;
	e = base_alloc(&b->arena, sizeof(*e) + n);
	char *copy = (char *)(e + 1);
	memcpy(copy, key, n);
	e->value = value;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, *table, copy, n, hash, e);
	return value;
}

/* ---- building ------------------------------------------------------------ */

struct race_site_builder *race_sites_new(void)
{
	struct race_site_builder *b;
	struct base_arena arena = {0};

	/* The builder lives in its own arena: one lifetime, one free. */
	b = BASE_NEW(&arena, struct race_site_builder);
	b->arena = arena;
	b->text = 1;
	return b;
}

uint32_t race_sites_string(struct race_site_builder *b, const char *s, size_t n)
{
	if (n)
		n = strnlen(s, n);
	if (!n)
		return 0;
	/* Past 4 GiB offsets wrap; race_sites_finish refuses the table by its size. */
	uint32_t at = (uint32_t)b->text;
	uint32_t found = entry_intern(b, &b->strings, s, n, at);
	if (found == at)
		b->text += n + 1;
	return found;
}

uint32_t race_sites_add(struct race_site_builder *b, const struct race_site *site)
{
	base_vec_push(&b->sites, *site);
	return (uint32_t)(b->sites.n - 1);
}

void race_sites_cut(struct race_site_builder *b, uint32_t n)
{
	if (n < b->sites.n)
		b->sites.n = n;
}

uint32_t race_sites_frame(struct race_site_builder *b, const struct race_frame *frame)
{
	uint32_t at = (uint32_t)b->frame.n;
	uint32_t found = entry_intern(b, &b->frames, frame, sizeof(*frame), at);

	if (found == at)
		base_vec_push(&b->frame, *frame);
	return found + 1;
}

void race_sites_unchecked(struct race_site_builder *b, uint32_t what, uint32_t why, uint32_t func,
			  uint32_t count)
{
	struct unchecked_key key = {what, why, func};
	struct race_unchecked fresh = {.what = what, .why = why, .func = func};
	uint32_t at = (uint32_t)b->skip.n;
	uint32_t found = entry_intern(b, &b->unchecked, &key, sizeof(key), at);

	if (found == at) {
		base_vec_push(&b->skip, fresh);
		base_vec_push(&b->now, (struct unchecked_now){0});
	}
	struct unchecked_now *now = &b->now.v[found];
	now->count = now->detector == b->detector ? now->count + count : count;
	now->detector = b->detector;
	if (b->skip.v[found].count < now->count)
		b->skip.v[found].count = now->count;
}

void race_sites_begin_detector(struct race_site_builder *b)
{
	b->detector++;
}

void race_sites_flags(struct race_site_builder *b, uint16_t flags)
{
	b->flags = flags;
}

uint32_t race_sites_count(const struct race_site_builder *b)
{
	return (uint32_t)b->sites.n;
}

/* ---- finishing ------------------------------------------------------------ */

/* Appends n elements to the image and notes where they went. */
static void image_put(struct base_buf *image, const void *v, size_t bytes, size_t n,
		      uint32_t *count, uint32_t *offset)
{
	*count = (uint32_t)n;
	*offset = (uint32_t)image->n;
	base_buf_put(image, v, bytes);
}

static void image_build(struct race_site_builder *b, const char *module_name, const char *target,
			struct base_buf *image)
{
	struct race_site_header h = {
		.magic = RACE_SITE_MAGIC, .version = RACE_SITE_VERSION, .flags = b->flags};

	h.module_name = race_sites_string(b, module_name, module_name ? strlen(module_name) : 0);
	h.target = race_sites_string(b, target, target ? strlen(target) : 0);
	base_buf_room(image, sizeof(h) + b->sites.n * sizeof(struct race_site) +
				     b->frame.n * sizeof(struct race_frame) +
				     b->skip.n * sizeof(struct race_unchecked) + b->text);
	base_buf_put(image, &h, sizeof(h));
	image_put(image, b->sites.v, b->sites.n * sizeof(struct race_site), b->sites.n, &h.nsites,
		  &h.sites);
	image_put(image, b->frame.v, b->frame.n * sizeof(struct race_frame), b->frame.n, &h.nframes,
		  &h.frames);
	image_put(image, b->skip.v, b->skip.n * sizeof(struct race_unchecked), b->skip.n,
		  &h.nunchecked, &h.unchecked);
	h.strings_bytes = (uint32_t)b->text;
	h.strings = (uint32_t)image->n;
	base_buf_put(image, "", 1);
	/* uthash iterates over its entries in the order of insertion, which is that of their
	 * offsets. */
	for (struct entry *e = b->strings; e; e = e->hh.next) {
		base_buf_put(image, e->hh.key, e->hh.keylen);
		base_buf_put(image, "", 1);
	}
	memcpy(image->p, &h, sizeof(h));
	h.hash = base_hash(image->p, image->n, BASE_FNV_INIT);
	memcpy(image->p, &h, sizeof(h));
}

bool race_sites_finish(struct race_site_builder *b, const char *module_name, const char *target,
		       void **blob, size_t *size, uint64_t *hash)
{
	struct race_site_blob head = {.magic = RACE_SITE_MAGIC, .version = RACE_SITE_VERSION};
	struct base_buf image = {0};
	struct race_site_header h;

	image_build(b, module_name, target, &image);
	size_t bound = ZSTD_compressBound(image.n);
	char *out = image.n <= UINT32_MAX ? calloc(1, sizeof(head) + bound + 8) : NULL;
	if (!out) {
		base_buf_free(&image);
		return false;
	}
	size_t n = ZSTD_compress(out + sizeof(head), bound, image.p, image.n, ZSTD_LEVEL);
	if (!ZSTD_isError(n) && n < image.n) {
		head.flags = 1;
	} else {
		n = image.n;
		memcpy(out + sizeof(head), image.p, n);
	}
	/* Beyond n the buffer may hold the rest of a longer attempt: the padding is cleared. */
	size_t padded = (sizeof(head) + n + 7) & ~(size_t)7;
	memset(out + sizeof(head) + n, 0, padded - sizeof(head) - n);
	memcpy(&h, image.p, sizeof(h));
	head.hash = h.hash;
	head.raw_bytes = (uint32_t)image.n;
	head.stored_bytes = (uint32_t)n;
	memcpy(out, &head, sizeof(head));
	base_buf_free(&image);
	*blob = out;
	*size = padded;
	*hash = head.hash;
	return true;
}

void race_sites_free(struct race_site_builder *b)
{
	if (!b)
		return;
	HASH_CLEAR(hh, b->strings);
	HASH_CLEAR(hh, b->frames);
	HASH_CLEAR(hh, b->unchecked);
	base_vec_free(&b->sites);
	base_vec_free(&b->frame);
	base_vec_free(&b->skip);
	base_vec_free(&b->now);
	struct base_arena arena = b->arena; /* b itself lies in it */
	base_arena_free(&arena);
}
