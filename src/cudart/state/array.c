/*
 * array.c - CUDA arrays: allocation, description, places in them.
 *
 * An array's texels lie row by row without gaps in ordinary device memory. On a GPU their order is
 * undocumented, so no program can depend on it. cudaFreeArray waits for the device, as cudaFree
 * does.
 * Misses: mipmapped, sparse and cube map arrays, planes of video formats.
 */
#include <stdlib.h>

#include "cudart/state/array.h"
#include "cudart/state/memory.h"

static struct rt_array *arrays;

struct rt_array *rt_array_find(cudaArray_const_t a)
{
	rt_lock();
	bool is_good = rt_handle_is(a, RT_ARRAY);
	rt_unlock();
	return is_good ? (struct rt_array *)(uintptr_t)a : NULL;
}

cudaError_t rt_channels(const struct cudaChannelFormatDesc *d, struct cpu_texture *out)
{
	const int bits[4] = {d->x, d->y, d->z, d->w};
	unsigned n = 0;

	while (n < 4 && bits[n])
		n++;
	for (unsigned i = 0; i < 4; i++)
		if (bits[i] != (i < n ? bits[0] : 0))
			return cudaErrorInvalidChannelDescriptor;
	bool is_float = d->f == cudaChannelFormatKindFloat;
	if (n == 0 || n == 3 || (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) ||
	    (is_float && bits[0] == 8))
		return cudaErrorInvalidChannelDescriptor;
	if (!is_float && d->f != cudaChannelFormatKindSigned &&
	    d->f != cudaChannelFormatKindUnsigned)
		return cudaErrorInvalidChannelDescriptor;
	out->channels = (uint8_t)n;
	out->bits = (uint8_t)bits[0];
	out->type = is_float				  ? CPU_TEX_FLOAT
		    : d->f == cudaChannelFormatKindSigned ? CPU_TEX_SIGNED
							  : CPU_TEX_UNSIGNED;
	return cudaSuccess;
}

static size_t at_least_one(size_t n)
{
	return n ? n : 1;
}

static cudaError_t make(struct rt_array *a, unsigned flags)
{
	struct cpu_texture t = {0};
	uint64_t bytes;
	void *p;
	cudaError_t e = rt_channels(&a->desc, &t);

	if (e != cudaSuccess)
		return e;
	a->elem = (unsigned)t.channels * t.bits / 8;
	a->flags = flags;
	a->device = rt_thread()->device;
	if (!a->extent.width ||
	    (a->extent.depth && !a->extent.height && !(flags & cudaArrayLayered)))
		return cudaErrorInvalidValue;
	if (__builtin_mul_overflow((uint64_t)a->extent.width, a->elem, &a->pitch) ||
	    __builtin_mul_overflow(a->pitch, at_least_one(a->extent.height), &a->slice) ||
	    __builtin_mul_overflow(a->slice, at_least_one(a->extent.depth), &bytes))
		return cudaErrorInvalidValue;
	e = rt_block_new(a->device, bytes, CPU_MEM_DEVICE, 0, NULL, &p);
	a->base = (uintptr_t)p;
	return e;
}

cudaError_t rt_malloc_3d_array(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			       struct cudaExtent extent, unsigned int flags)
{
	const unsigned known =
		cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayTextureGather;
	struct rt_array *a;

	RT_UNSAFE();
	if (!array || !desc)
		return cudaErrorInvalidValue;
	if (flags & ~known)
		return rt_refuse_use("cudaMalloc3DArray", "such flags");
	a = calloc(1, sizeof(*a));
	if (!a)
		return cudaErrorMemoryAllocation;
	a->desc = *desc;
	a->extent = extent;
	cudaError_t e = make(a, flags);
	if (e != cudaSuccess) {
		free(a);
		return e;
	}
	rt_lock();
	a->next = arrays;
	arrays = a;
	rt_handle_add(a, RT_ARRAY);
	rt_unlock();
	*array = (cudaArray_t)a;
	return cudaSuccess;
}

static void drop(struct rt_array *a)
{
	struct rt_array **p = &arrays;

	while (*p != a)
		p = &(*p)->next;
	*p = a->next;
	rt_handle_remove(a);
	free(a);
}

cudaError_t rt_free_array(cudaArray_t array)
{
	RT_UNSAFE();
	if (!array)
		return cudaSuccess;
	struct rt_array *a = rt_array_find(array);
	if (!a)
		return cudaErrorInvalidResourceHandle;
	cudaError_t e = rt_free((void *)(uintptr_t)a->base);
	rt_lock();
	if (rt_handle_is(array, RT_ARRAY))
		drop(a);
	rt_unlock();
	return e;
}

void rt_arrays_reset(unsigned device)
{
	for (struct rt_array *a = arrays, *next; a; a = next) {
		next = a->next;
		if (a->device == device)
			drop(a);
	}
}

cudaError_t rt_array_get_info(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			      unsigned int *flags, cudaArray_t array)
{
	const struct rt_array *a = rt_array_find(array);
	if (!a)
		return cudaErrorInvalidResourceHandle;
	if (desc)
		*desc = a->desc;
	if (extent)
		*extent = a->extent;
	if (flags)
		*flags = a->flags;
	return cudaSuccess;
}

cudaError_t rt_get_channel_desc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	const struct rt_array *a = rt_array_find(array);
	if (!a || !desc)
		return a ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
	*desc = a->desc;
	return cudaSuccess;
}

cudaError_t rt_array_place(cudaArray_const_t array, size_t x, size_t y, size_t width, size_t height,
			   uint64_t *address, uint64_t *pitch)
{
	const struct rt_array *a = rt_array_find(array);
	uint64_t rows = a ? at_least_one(a->extent.height) : 0;

	if (!a)
		return cudaErrorInvalidResourceHandle;
	*address = a->base + y * a->pitch + x;
	*pitch = a->pitch;
	if (x > a->pitch || y > rows)
		return cudaErrorInvalidValue;
	if (!height)
		return width <= a->slice - (y * a->pitch + x) ? cudaSuccess : cudaErrorInvalidValue;
	return width <= a->pitch - x && height <= rows - y ? cudaSuccess : cudaErrorInvalidValue;
}
