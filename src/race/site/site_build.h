/*
 * site_build.h - writing a module's site table (the reader is race.h).
 *
 * The instrumenter adds strings, frames and sites in any order and takes the
 * finished bytes once; only site_build.c knows how the image is laid out.
 * Equal calls in equal order give equal bytes, so that the content hash names
 * the table in every object that carries it.
 */
#ifndef COLLIDER_RACE_SITE_SITE_BUILD_H
#define COLLIDER_RACE_SITE_SITE_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "race/site/site.h"

struct race_site_builder;

/* An empty table; free with race_sites_free. */
struct race_site_builder *race_sites_new(void);

/* Enters n bytes (cut at the first NUL) and returns the string's offset for the fields of
 * site.h; equal strings share one offset, the empty one is 0. `s` may be NULL when n is 0. */
uint32_t race_sites_string(struct race_site_builder *b, const char *s, size_t n);

/* Appends a site and returns its index, the number that a record carries. Copied. */
uint32_t race_sites_add(struct race_site_builder *b, const struct race_site *site);

/* Forgets all sites but the first n: no record will carry the others. */
void race_sites_cut(struct race_site_builder *b, uint32_t n);

/* Enters a frame and returns its index + 1, as race_site.frame and race_frame.next want it;
 * equal frames are entered once. An outer frame is entered before the inner one that names it. */
uint32_t race_sites_frame(struct race_site_builder *b, const struct race_frame *frame);

/* Counts `count` instructions that are not checked; equal (what, why, func) are summed, over the
 * instructions that one detector sees: the next one sees the same, so the largest sum stands. */
void race_sites_unchecked(struct race_site_builder *b, uint32_t what, uint32_t why, uint32_t func,
			  uint32_t count);

/* Another detector begins its way through the module. */
void race_sites_begin_detector(struct race_site_builder *b);

/* Of the module: RACE_SITES_*. */
void race_sites_flags(struct race_site_builder *b, uint16_t flags);

/* Sites added so far. */
uint32_t race_sites_count(const struct race_site_builder *b);

/*
 * Makes the bytes for the module: struct race_site_blob and the image, zstd where that is
 * smaller, padded with zeros to a multiple of 8. *blob is malloc'd, the caller frees it;
 * *hash is the table's name. Returns false, with nothing written, when the image would pass
 * 4 GiB or memory ran out. The builder stays valid and may be finished again.
 */
bool race_sites_finish(struct race_site_builder *b, const char *module_name, const char *target,
		       void **blob, size_t *size, uint64_t *hash);

void race_sites_free(struct race_site_builder *b);

#endif
