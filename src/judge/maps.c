/*
 * maps.c - tensor maps of the program: what the driver has made, found again by their 128 bytes in
 * parameters and memory, becomes what the CPU device reads.
 *
 * Bytes that are a map's are taken for it wherever they lie: only the driver makes such ones, and a
 * program can do nothing with them but copy them.
 *
 * Misses: maps that were made or changed otherwise, by a kernel or byte by byte: they stay as they
 * are, and a trial stops at them as at memory that can't be had.
 * Costs: a look-up for each 64 bytes of a page, if the program makes maps at all.
 */
#include "judge/serve.h"

#include <stdlib.h>
#include <string.h>

#define HALF RACE_JUDGE_MAP_ALIGN /* a page may begin or end in a map */

_Static_assert(RACE_JUDGE_MAP_BYTES == 2 * HALF, "a map lies in two pages at most, halves of it");

struct judge_map {
	UT_hash_handle hh;
	uint8_t theirs[RACE_JUDGE_MAP_BYTES], ours[RACE_JUDGE_MAP_BYTES];
};

void judge_maps_free(struct judge_map **all)
{
	struct judge_map *m, *next;

	HASH_ITER(hh, *all, m, next)
	{
		HASH_DEL(*all, m);
		free(m);
	}
}

/* NULL, or why the CPU device has no such map. */
static const char *encode(const struct race_judge_map *m, uint8_t *out)
{
	struct cpu_tensormap_desc d = {.type = m->type,
				       .rank = m->rank,
				       .interleave = m->interleave,
				       .swizzle = m->swizzle,
				       .l2 = m->l2,
				       .fill = m->fill,
				       .address = m->address,
				       .is_im2col = m->is_im2col,
				       .channels = m->channels,
				       .pixels = m->pixels,
				       .wide = m->wide};

	memcpy(d.dims, m->dims, sizeof(d.dims));
	memcpy(d.strides, m->strides, sizeof(d.strides));
	memcpy(d.box, m->box, sizeof(d.box));
	memcpy(d.element_strides, m->element_strides, sizeof(d.element_strides));
	memcpy(d.lower, m->lower, sizeof(d.lower));
	memcpy(d.upper, m->upper, sizeof(d.upper));
	return cpu_tensormap_encode(&d, out);
}

bool judge_maps_add(struct judge_map **all, const struct base_buf *b)
{
	struct race_judge_map desc;
	const char *theirs = b->p + sizeof(desc);
	struct judge_map *m;

	if (b->n != sizeof(desc) + RACE_JUDGE_MAP_BYTES)
		return false;
	memcpy(&desc, b->p, sizeof(desc));
	HASH_FIND(hh, *all, theirs, RACE_JUDGE_MAP_BYTES, m);
	if (!m && HASH_COUNT(*all) >= 2 * RACE_JUDGE_MAPS) /* the program has forgotten some */
		judge_maps_free(all);
	if (!m) {
		m = base_calloc(1, sizeof(*m));
		memcpy(m->theirs, theirs, sizeof(m->theirs));
		HASH_ADD(hh, *all, theirs, sizeof(m->theirs), m);
	}
	/* (One that can't be encoded stays, and the kernel stops at it.) */
	if (encode(&desc, m->ours))
		memcpy(m->ours, m->theirs, sizeof(m->ours));
	return true;
}

static const struct judge_map *find(const struct judge_map *all, const uint8_t *bytes)
{
	struct judge_map *m;

	HASH_FIND(hh, all, bytes, RACE_JUDGE_MAP_BYTES, m);
	return m;
}

void judge_maps_put(const struct judge_map *all, uint64_t addr, uint8_t *bytes, size_t n)
{
	for (size_t i = -addr % HALF; all && i + RACE_JUDGE_MAP_BYTES <= n; i += HALF) {
		const struct judge_map *m = find(all, bytes + i);
		if (m)
			memcpy(bytes + i, m->ours, sizeof(m->ours));
	}
}

static bool is_half(const struct judge_map *all, const uint8_t *bytes, bool is_second)
{
	for (const struct judge_map *m = all; m; m = m->hh.next)
		if (!memcmp(m->theirs + is_second * HALF, bytes, HALF))
			return true;
	return false;
}

bool judge_maps_is_cut(const struct judge_map *all, const uint8_t *bytes, size_t n, bool at_end)
{
	return n >= HALF && is_half(all, at_end ? bytes + n - HALF : bytes, !at_end);
}

void judge_maps_join(const struct judge_map *all, uint8_t *bytes, size_t n, bool at_end,
		     const uint8_t *other)
{
	uint8_t both[RACE_JUDGE_MAP_BYTES], *own = at_end ? bytes + n - HALF : bytes;

	memcpy(both, at_end ? own : other, HALF);
	memcpy(both + HALF, at_end ? other : own, HALF);
	const struct judge_map *m = find(all, both);
	if (m)
		memcpy(own, at_end ? m->ours : m->ours + HALF, HALF);
}
