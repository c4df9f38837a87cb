/*
 * maps.h - the program's side of the table of tensor maps (box.h), in the shared file.
 */
#ifndef COLLIDER_RACE_FILE_MAPS_H
#define COLLIDER_RACE_FILE_MAPS_H

#include <stdbool.h>

#include "race/file/box.h"
#include "race/file/shm.h"

/* The arguments of cuTensorMapEncodeTiled; the numbers are those of cuda.h. */
struct race_map_request {
	uint64_t address;
	uint32_t type, rank, interleave, swizzle;
	const uint64_t *dims;		 /* rank of them */
	const uint64_t *strides;	 /* rank - 1 */
	const uint32_t *box;		 /* rank */
	const uint32_t *element_strides; /* rank */
};

/* The box of a request; false: its footprint is not plain. */
bool race_box_make(struct race_box *b, const struct race_map_request *q);
/* Records a map (its 128 bytes) for all regions of this process, where its box is plain. */
void race_map_record(const void *map, const struct race_map_request *q);
/* Gives a region that was just claimed the maps that are known. */
void race_maps_attach(struct race_region *region);

#endif
