/*
 * texture.c - texture and surface objects: turns descriptions into the machine's objects.
 *
 * The restrictions that CUDA's manual states for resources and their descriptions are checked.
 * Misses: mipmaps, cube maps, views, sRGB, anisotropy, which the entry points refuse by name; an
 * object is described to the API that made it only.
 */
#include "cudart/state/texture.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "cudart/state/array.h"

#define TEXTURE_ALIGN 512u /* as the attributes say */
#define PITCH_ALIGN   32u

struct object {
	UT_hash_handle hh;
	uint64_t handle;
	bool is_surface;
	size_t n;
	unsigned char kept[];
};

static struct object *objects;

static struct object *find(uint64_t handle, bool is_surface)
{
	struct object *o;

	rt_lock();
	HASH_FIND(hh, objects, &handle, sizeof(handle), o);
	rt_unlock();
	return o && o->is_surface == is_surface ? o : NULL;
}

static enum rt_error enter(const struct cpu_texture *t, const void *kept, size_t n, uint64_t *out)
{
	struct object *o = calloc(1, sizeof(*o) + n);
	uint64_t handle = o ? cpu_texture_new(rt.m, t) : 0;

	if (!handle) {
		free(o);
		return RT_ERROR_MEMORY_ALLOCATION;
	}
	o->handle = handle;
	o->is_surface = t->is_surface;
	o->n = n;
	memcpy(o->kept, kept, n);
	rt_lock();
	HASH_ADD(hh, objects, handle, sizeof(o->handle), o);
	rt_unlock();
	*out = handle;
	return RT_OK;
}

enum rt_error rt_texture_free(uint64_t handle, bool is_surface)
{
	struct object *o = find(handle, is_surface);

	if (!o)
		return RT_ERROR_INVALID_VALUE;
	cpu_texture_free(rt.m, handle);
	rt_lock();
	HASH_DEL(objects, o);
	rt_unlock();
	free(o);
	return RT_OK;
}

const void *rt_texture_kept(uint64_t handle, bool is_surface, size_t n)
{
	const struct object *o = find(handle, is_surface);

	return o && o->n == n ? o->kept : NULL;
}

/* ---- resources ------------------------------------------------------------------------ */

static enum rt_error from_array(const struct rt_resource *res, struct cpu_texture *t)
{
	const struct rt_array *a = rt_array_find(res->array);

	if (!a)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	if (t->is_surface && res->is_strict && !(a->flags & RT_ARRAY_SURFACE))
		return RT_ERROR_INVALID_VALUE;
	t->is_array = true;
	t->is_layered = a->flags & RT_ARRAY_LAYERED;
	t->address = a->base;
	t->width = a->extent.width;
	t->height = a->extent.height;
	t->depth = a->extent.depth;
	t->pitch = a->pitch;
	t->slice = a->slice;
	return rt_channels(&a->desc, t);
}

static enum rt_error check_memory(uint64_t address, uint64_t bytes)
{
	struct cpu_mem_info i;

	if (address % TEXTURE_ALIGN || !cpu_mem_find(rt.m, address, &i) ||
	    bytes > i.bytes - (address - i.base))
		return RT_ERROR_INVALID_VALUE;
	return RT_OK;
}

static enum rt_error from_memory(const struct rt_resource *res, struct cpu_texture *t)
{
	enum rt_error e = rt_channels(&res->format, t);
	uint64_t elem = (uint64_t)t->channels * t->bits / 8, rows;

	if (res->is_strict && res->kind == RT_RESOURCE_LINE && !res->width)
		return RT_ERROR_INVALID_VALUE;
	if (e != RT_OK)
		return e;
	t->address = res->address;
	if (res->kind == RT_RESOURCE_LINE) {
		t->width = res->width / elem;
		return check_memory(t->address, t->width * elem);
	}
	t->width = res->width;
	t->height = res->height;
	t->pitch = res->pitch;
	if (!t->width || !t->height || t->pitch % PITCH_ALIGN || t->width > t->pitch / elem ||
	    __builtin_mul_overflow(t->pitch, t->height - 1, &rows))
		return RT_ERROR_INVALID_VALUE;
	return check_memory(t->address, rows + t->width * elem);
}

/* ---- textures ------------------------------------------------------------------------- */

static enum rt_error set_sampling(const struct cpu_sampling *d, struct cpu_texture *t)
{
	static const enum rt_error errors[] = {
		[CPU_SAMPLING_GOOD] = RT_OK,
		[CPU_SAMPLING_NO_FRACTIONS] = RT_ERROR_INVALID_NORM_SETTING,
		[CPU_SAMPLING_NO_FILTER] = RT_ERROR_INVALID_FILTER_SETTING,
		[CPU_SAMPLING_NO_MODE] = RT_ERROR_INVALID_VALUE,
	};

	return errors[cpu_texture_sample(t, d)];
}

enum rt_error rt_texture_new(const struct rt_resource *res, const struct cpu_sampling *sampling,
			     const void *kept, size_t n, uint64_t *out)
{
	struct cpu_texture t = {.is_surface = !sampling};
	enum rt_error e;

	if (res->kind == RT_RESOURCE_ARRAY)
		e = from_array(res, &t);
	else
		e = sampling ? from_memory(res, &t) : RT_ERROR_INVALID_VALUE;
	if (e == RT_OK && sampling)
		e = set_sampling(sampling, &t);
	return e == RT_OK ? enter(&t, kept, n, out) : e;
}
