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

struct rt_array *rt_array_find(rt_ref a)
{
	rt_lock();
	bool is_good = rt_handle_is(a, RT_ARRAY);
	rt_unlock();
	return is_good ? (struct rt_array *)(uintptr_t)a : NULL;
}

enum rt_error rt_channels(const struct rt_format *d, struct cpu_texture *out)
{
	const int bits[4] = {d->x, d->y, d->z, d->w};
	unsigned n = 0;

	while (n < 4 && bits[n])
		n++;
	for (unsigned i = 0; i < 4; i++)
		if (bits[i] != (i < n ? bits[0] : 0))
			return RT_ERROR_INVALID_CHANNEL_DESCRIPTOR;
	bool is_float = d->kind == RT_CHANNEL_FLOAT;
	if (n == 0 || n == 3 || (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) ||
	    (is_float && bits[0] == 8))
		return RT_ERROR_INVALID_CHANNEL_DESCRIPTOR;
	if (!is_float && d->kind != RT_CHANNEL_SIGNED && d->kind != RT_CHANNEL_UNSIGNED)
		return RT_ERROR_INVALID_CHANNEL_DESCRIPTOR;
	out->channels = (uint8_t)n;
	out->bits = (uint8_t)bits[0];
	out->type = is_float			   ? CPU_TEX_FLOAT
		    : d->kind == RT_CHANNEL_SIGNED ? CPU_TEX_SIGNED
						   : CPU_TEX_UNSIGNED;
	return RT_OK;
}

static size_t at_least_one(size_t n)
{
	return n ? n : 1;
}

static enum rt_error make(struct rt_array *a, unsigned flags)
{
	struct cpu_texture t = {0};
	uint64_t bytes;
	void *p;
	enum rt_error e = rt_channels(&a->desc, &t);

	if (e != RT_OK)
		return e;
	a->elem = (unsigned)t.channels * t.bits / 8;
	a->flags = flags;
	a->device = rt_thread()->device;
	if (!a->extent.width ||
	    (a->extent.depth && !a->extent.height && !(flags & RT_ARRAY_LAYERED)))
		return RT_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow((uint64_t)a->extent.width, a->elem, &a->pitch) ||
	    __builtin_mul_overflow(a->pitch, at_least_one(a->extent.height), &a->slice) ||
	    __builtin_mul_overflow(a->slice, at_least_one(a->extent.depth), &bytes))
		return RT_ERROR_INVALID_VALUE;
	e = rt_block_new(a->device, bytes, CPU_MEM_DEVICE, 0, NULL, &p);
	a->base = (uintptr_t)p;
	return e;
}

enum rt_error rt_malloc_3d_array(rt_ref *array, const struct rt_format *desc,
				 struct rt_extent extent, unsigned int flags)
{
	const unsigned known = RT_ARRAY_LAYERED | RT_ARRAY_SURFACE | RT_ARRAY_GATHER;
	struct rt_array *a;

	RT_UNSAFE();
	if (!array || !desc)
		return RT_ERROR_INVALID_VALUE;
	if (flags & ~known)
		return rt_refuse_use("an array", "such flags");
	a = calloc(1, sizeof(*a));
	if (!a)
		return RT_ERROR_MEMORY_ALLOCATION;
	a->desc = *desc;
	a->extent = extent;
	enum rt_error e = make(a, flags);
	if (e != RT_OK) {
		free(a);
		return e;
	}
	rt_lock();
	a->next = arrays;
	arrays = a;
	rt_handle_add(a, RT_ARRAY);
	rt_unlock();
	*array = (rt_ref)a;
	return RT_OK;
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

enum rt_error rt_free_array(rt_ref array)
{
	RT_UNSAFE();
	if (!array)
		return RT_OK;
	struct rt_array *a = rt_array_find(array);
	if (!a)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	enum rt_error e = rt_free((void *)(uintptr_t)a->base);
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

enum rt_error rt_array_place(rt_ref array, size_t x, size_t y, size_t width, size_t height,
			     uint64_t *address, uint64_t *pitch)
{
	const struct rt_array *a = rt_array_find(array);
	uint64_t rows = a ? at_least_one(a->extent.height) : 0;

	if (!a)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	*address = a->base + y * a->pitch + x;
	*pitch = a->pitch;
	if (x > a->pitch || y > rows)
		return RT_ERROR_INVALID_VALUE;
	if (!height)
		return width <= a->slice - (y * a->pitch + x) ? RT_OK : RT_ERROR_INVALID_VALUE;
	return width <= a->pitch - x && height <= rows - y ? RT_OK : RT_ERROR_INVALID_VALUE;
}
