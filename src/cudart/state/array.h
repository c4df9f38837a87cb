/*
 * array.h - CUDA arrays, for textures and copies.
 */
#ifndef COLLIDER_CUDART_ARRAY_H
#define COLLIDER_CUDART_ARRAY_H

#include "cudart/state/copy.h"

/* Texels row by row without gaps, in an allocation of its own. */
struct rt_array {
	struct rt_array *next;
	unsigned device, flags, elem; /* elem: bytes of a texel */
	struct rt_format desc;
	struct rt_extent extent; /* as asked for: 0 where there is no such dimension */
	uint64_t base, pitch, slice;
};

/* The array of a handle, NULL: none. Lock not held. */
struct rt_array *rt_array_find(rt_ref a);
/* Fills channels, bits and type; RT_ERROR_INVALID_CHANNEL_DESCRIPTOR: not a format that GPUs
 * support. */
enum rt_error rt_channels(const struct rt_format *d, struct cpu_texture *out);
/* Where a rectangle of the array starts: offsets and width in bytes. height 0: `width` bytes in the
 * order of rows. */
enum rt_error rt_array_place(rt_ref a, size_t x, size_t y, size_t width, size_t height,
			     uint64_t *address, uint64_t *pitch);
/* cudaDeviceReset: its arrays are gone. Lock held. */
void rt_arrays_reset(unsigned device);
/* What the entry points of the same names do. Lock not held. */
enum rt_error rt_malloc_3d_array(rt_ref *array, const struct rt_format *desc,
				 struct rt_extent extent, unsigned int flags);
enum rt_error rt_free_array(rt_ref array);

#endif
