/*
 * box.h - what is known about tensor maps, for the checks of tensor copies.
 *
 * Only the driver can interpret the 128 bytes of a tensor map. The request by which it was encoded
 * is recorded with these bytes as the key (maps.c), in a table that kernels read: the thread that
 * issues a tensor copy looks its map up. A map that was changed on the device has other bytes and
 * is not found. Shared by host C and CUDA C.
 */
#ifndef COLLIDER_RACE_FILE_BOX_H
#define COLLIDER_RACE_FILE_BOX_H

#include "race/record.h"

#define RACE_MAPS	512u /* maps that differ, in one process; later ones are not known */
#define RACE_MAP_PROBES 8u
#define RACE_MAP_WORDS	16u
#define RACE_MAP_RANK	5u

/* A tensor and its box. Recorded only where every byte of the box is plain: tiles, element strides
 * of 1, no interleaving, values that are copied as they are, rows as wide as the swizzle. */
struct race_box {
	uint64_t address;
	uint64_t strides[4]; /* bytes, of dimensions 1 to 4 */
	uint64_t dims[5];    /* elements; 1 above the rank */
	uint16_t count[5];   /* of the box; 1 above the rank */
	uint8_t elem;	     /* bytes of an element */
	uint8_t rank;
	uint8_t swizzle; /* 0; 1, 2, 3: rows of 32, 64, 128 bytes */
	uint8_t reserved[35];
};

struct race_map {
	uint64_t words[RACE_MAP_WORDS]; /* the map itself */
	struct race_box box;
};

/* Open addressing; a key is stored when its map is complete, and neither changes afterwards. */
struct race_maps {
	uint64_t keys[RACE_MAPS]; /* 0: free */
	struct race_map maps[RACE_MAPS];
};

/* What __collider_tensor takes in `flags`. */
#define RACE_TENSOR_RANK(flags) ((flags)&7u)
#define RACE_TENSOR_STORE	8u  /* from shared to global memory */
#define RACE_TENSOR_SOURCE	16u /* the destination is not checked */

/* What it returns. head: the number of sides that were checked, and the flags; the rest is for
 * RACE_TENSOR_FOUND: the place that differs (four bytes) and its values. */
struct race_tensor {
	uint64_t head, address, was, now;
};
#define RACE_TENSOR_SIDES     3u
#define RACE_TENSOR_FOUND     4u
#define RACE_TENSOR_IN_SOURCE 8u /* else in the destination */

/* The key of a map: race_map_mix over its words from 0, then race_map_key. */
RACE_FN uint64_t race_map_mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

RACE_FN uint64_t race_map_key(uint64_t h)
{
	return h ? h : 1;
}

RACE_STATIC_ASSERT(sizeof(struct race_box) == 128, "box crosses host and device");
RACE_STATIC_ASSERT(sizeof(struct race_map) == 256, "map crosses host and device");
RACE_STATIC_ASSERT(sizeof(struct race_maps) % 4096 == 0, "maps are registered by page");

#endif
