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
	struct cudaChannelFormatDesc desc;
	struct cudaExtent extent; /* as asked for: 0 where there is no such dimension */
	uint64_t base, pitch, slice;
};

/* The array of a handle, NULL: none. Lock not held. */
struct rt_array *rt_array_find(cudaArray_const_t a);
/* Fills channels, bits and type; cudaErrorInvalidChannelDescriptor: not a format that GPUs
 * support. */
cudaError_t rt_channels(const struct cudaChannelFormatDesc *d, struct cpu_texture *out);
/* Where a rectangle of the array starts: offsets and width in bytes. height 0: `width` bytes in the
 * order of rows. */
cudaError_t rt_array_place(cudaArray_const_t a, size_t x, size_t y, size_t width, size_t height,
			   uint64_t *address, uint64_t *pitch);
/* cudaDeviceReset: its arrays are gone. Lock held. */
void rt_arrays_reset(unsigned device);
/* What the entry points of the same names do. Lock not held. */
cudaError_t rt_malloc_3d_array(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			       struct cudaExtent extent, unsigned int flags);
cudaError_t rt_free_array(cudaArray_t array);
cudaError_t rt_array_get_info(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			      unsigned int *flags, cudaArray_t array);
cudaError_t rt_get_channel_desc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array);

#endif
