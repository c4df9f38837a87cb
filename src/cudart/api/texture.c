/*
 * texture.c - texture and surface objects: turns the program's descriptions into the machine's
 * objects.
 *
 * The restrictions that CUDA's manual states for resources and their descriptions are checked.
 * Refused by name: mipmaps, cube maps, views, sRGB, anisotropy.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/array.h"
#include "base/table.h"

#define TEXTURE_ALIGN 512u /* as the attributes say */
#define PITCH_ALIGN   32u

/* What the program passed, for its queries. */
struct object {
	UT_hash_handle hh;
	uint64_t handle;
	struct cudaResourceDesc res;
	struct cudaTextureDesc tex;
	bool is_surface;
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

static enum rt_error enter(const struct cpu_texture *t, const struct cudaResourceDesc *res,
			   const struct cudaTextureDesc *tex, unsigned long long *out)
{
	struct object *o = calloc(1, sizeof(*o));
	uint64_t handle = o ? cpu_texture_new(rt.m, t) : 0;

	if (!handle) {
		free(o);
		return RT_ERROR_MEMORY_ALLOCATION;
	}
	o->handle = handle;
	o->res = *res;
	o->is_surface = t->is_surface;
	if (tex)
		o->tex = *tex;
	rt_lock();
	HASH_ADD(hh, objects, handle, sizeof(o->handle), o);
	rt_unlock();
	*out = handle;
	return RT_OK;
}

static enum rt_error leave(uint64_t handle, bool is_surface)
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

/* ---- resources ------------------------------------------------------------------------ */

static enum rt_error from_array(cudaArray_const_t array, struct cpu_texture *t)
{
	const struct rt_array *a = rt_array_find(array);

	if (!a)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	t->is_array = true;
	t->is_layered = a->flags & cudaArrayLayered;
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

static enum rt_error from_memory(const struct cudaResourceDesc *res, struct cpu_texture *t)
{
	bool is_line = res->resType == cudaResourceTypeLinear;
	struct rt_format format =
		rt_format_of(is_line ? &res->res.linear.desc : &res->res.pitch2D.desc);
	enum rt_error e = rt_channels(&format, t);
	uint64_t elem = (uint64_t)t->channels * t->bits / 8, rows;

	if (e != RT_OK)
		return e;
	if (is_line) {
		t->address = (uintptr_t)res->res.linear.devPtr;
		t->width = res->res.linear.sizeInBytes / elem;
		return t->width ? check_memory(t->address, t->width * elem)
				: RT_ERROR_INVALID_VALUE;
	}
	t->address = (uintptr_t)res->res.pitch2D.devPtr;
	t->width = res->res.pitch2D.width;
	t->height = res->res.pitch2D.height;
	t->pitch = res->res.pitch2D.pitchInBytes;
	if (!t->width || !t->height || t->pitch % PITCH_ALIGN || t->width > t->pitch / elem ||
	    __builtin_mul_overflow(t->pitch, t->height - 1, &rows))
		return RT_ERROR_INVALID_VALUE;
	return check_memory(t->address, rows + t->width * elem);
}

static enum rt_error from_resource(const char *name, const struct cudaResourceDesc *res,
				   struct cpu_texture *t)
{
	if (res->flags)
		return RT_ERROR_INVALID_VALUE;
	switch (res->resType) {
	case cudaResourceTypeArray:
		return from_array(res->res.array.array, t);
	case cudaResourceTypeLinear:
	case cudaResourceTypePitch2D:
		return from_memory(res, t);
	case cudaResourceTypeMipmappedArray:
		return rt_refuse_use(name, "a mipmapped array");
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

/* ---- textures ------------------------------------------------------------------------- */

static enum rt_error set_sampling(const struct cudaTextureDesc *d, struct cpu_texture *t)
{
	bool is_int = t->type != CPU_TEX_FLOAT, is_line = !t->is_array && !t->height;

	if (d->sRGB)
		return rt_refuse_use("cudaCreateTextureObject", "sRGB");
	if (d->maxAnisotropy > 1)
		return rt_refuse_use("cudaCreateTextureObject", "anisotropy");
	if (d->seamlessCubemap)
		return rt_refuse_use("cudaCreateTextureObject", "seamlessCubemap");
	if ((d->filterMode != cudaFilterModePoint && d->filterMode != cudaFilterModeLinear) ||
	    (d->readMode != cudaReadModeElementType && d->readMode != cudaReadModeNormalizedFloat))
		return RT_ERROR_INVALID_VALUE;
	t->is_unit = is_int && d->readMode == cudaReadModeNormalizedFloat;
	if (t->is_unit && t->bits == 32)
		return RT_ERROR_INVALID_NORM_SETTING;
	t->is_filtered = !is_line && d->filterMode == cudaFilterModeLinear;
	if (t->is_filtered && is_int && !t->is_unit)
		return RT_ERROR_INVALID_FILTER_SETTING;
	t->is_normalized = !is_line && d->normalizedCoords;
	for (unsigned i = 0; i < 3; i++) {
		if (d->addressMode[i] < cudaAddressModeWrap ||
		    d->addressMode[i] > cudaAddressModeBorder)
			return RT_ERROR_INVALID_VALUE;
		t->mode[i] = (uint8_t)d->addressMode[i];
		/* The manual: these two are switched to clamping then. */
		if (!t->is_normalized && t->mode[i] != CPU_TEX_BORDER)
			t->mode[i] = CPU_TEX_CLAMP;
	}
	/* Beyond its end a line of memory reads as 0. */
	if (!is_line)
		memcpy(t->border, d->borderColor, sizeof(t->border));
	return RT_OK;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
				    const struct cudaResourceDesc *pResDesc,
				    const struct cudaTextureDesc *pTexDesc,
				    const struct cudaResourceViewDesc *pResViewDesc)
{
	struct cpu_texture t = {0};

	RT_ENTER();
	if (!pTexObject || !pResDesc || !pTexDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (pResViewDesc)
		return rt_fail(rt_refuse_use("cudaCreateTextureObject", "a resource view"));
	enum rt_error e = from_resource("cudaCreateTextureObject", pResDesc, &t);
	if (e == RT_OK)
		e = set_sampling(pTexDesc, &t);
	if (e == RT_OK)
		e = enter(&t, pResDesc, pTexDesc, pTexObject);
	return rt_fail(e);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
	RT_ENTER();
	return texObject ? rt_fail(leave(texObject, false)) : cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
					     cudaTextureObject_t texObject)
{
	RT_ENTER();
	const struct object *o = find(texObject, false);
	if (!o || !pResDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*pResDesc = o->res;
	return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
					    cudaTextureObject_t texObject)
{
	RT_ENTER();
	const struct object *o = find(texObject, false);
	if (!o || !pTexDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*pTexDesc = o->tex;
	return cudaSuccess;
}

/* ---- surfaces ------------------------------------------------------------------------- */

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
				    const struct cudaResourceDesc *pResDesc)
{
	struct cpu_texture t = {.is_surface = true};

	RT_ENTER();
	if (!pSurfObject || !pResDesc || pResDesc->resType != cudaResourceTypeArray)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	const struct rt_array *a = rt_array_find(pResDesc->res.array.array);
	if (a && !(a->flags & cudaArraySurfaceLoadStore))
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = from_resource("cudaCreateSurfaceObject", pResDesc, &t);
	if (e == RT_OK)
		e = enter(&t, pResDesc, NULL, pSurfObject);
	return rt_fail(e);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
	RT_ENTER();
	return surfObject ? rt_fail(leave(surfObject, true)) : cudaSuccess;
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
					     cudaSurfaceObject_t surfObject)
{
	RT_ENTER();
	const struct object *o = find(surfObject, true);
	if (!o || !pResDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*pResDesc = o->res;
	return cudaSuccess;
}
