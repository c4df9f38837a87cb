/*
 * texture.c - texture and surface objects as the runtime describes them (state/texture.c).
 *
 * Refused by name: mipmaps, cube maps, views, sRGB, anisotropy.
 */
#include "cudart/api/api.h"
#include "cudart/state/texture.h"

/* What the program passed, for its queries. */
struct kept {
	struct cudaResourceDesc res;
	struct cudaTextureDesc tex;
};

static enum rt_error resource_of(const char *name, const struct cudaResourceDesc *d,
				 struct rt_resource *out)
{
	*out = (struct rt_resource){.is_strict = true};
	if (d->flags)
		return RT_ERROR_INVALID_VALUE;
	switch (d->resType) {
	case cudaResourceTypeArray:
		out->kind = RT_RESOURCE_ARRAY;
		out->array = d->res.array.array;
		return RT_OK;
	case cudaResourceTypeLinear:
		out->kind = RT_RESOURCE_LINE;
		out->address = (uintptr_t)d->res.linear.devPtr;
		out->width = d->res.linear.sizeInBytes;
		out->format = rt_format_of(&d->res.linear.desc);
		return RT_OK;
	case cudaResourceTypePitch2D:
		out->kind = RT_RESOURCE_ROWS;
		out->address = (uintptr_t)d->res.pitch2D.devPtr;
		out->width = d->res.pitch2D.width;
		out->height = d->res.pitch2D.height;
		out->pitch = d->res.pitch2D.pitchInBytes;
		out->format = rt_format_of(&d->res.pitch2D.desc);
		return RT_OK;
	case cudaResourceTypeMipmappedArray:
		return rt_refuse_use(name, "a mipmapped array");
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

static enum rt_error sampling_of(const struct cudaTextureDesc *d, struct cpu_sampling *out)
{
	*out = (struct cpu_sampling){.is_linear = d->filterMode == cudaFilterModeLinear,
				     .is_element = d->readMode == cudaReadModeElementType,
				     .is_normalized = d->normalizedCoords};
	if (d->sRGB)
		return rt_refuse_use("cudaCreateTextureObject", "sRGB");
	if (d->maxAnisotropy > 1)
		return rt_refuse_use("cudaCreateTextureObject", "anisotropy");
	if (d->seamlessCubemap)
		return rt_refuse_use("cudaCreateTextureObject", "seamlessCubemap");
	if ((d->filterMode != cudaFilterModePoint && d->filterMode != cudaFilterModeLinear) ||
	    (d->readMode != cudaReadModeElementType && d->readMode != cudaReadModeNormalizedFloat))
		return RT_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < 3; i++)
		out->mode[i] = (int)d->addressMode[i];
	for (unsigned i = 0; i < 4; i++)
		out->border[i] = d->borderColor[i];
	return RT_OK;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
				    const struct cudaResourceDesc *pResDesc,
				    const struct cudaTextureDesc *pTexDesc,
				    const struct cudaResourceViewDesc *pResViewDesc)
{
	struct cpu_sampling sampling;
	struct rt_resource res;
	uint64_t handle;

	RT_ENTER();
	if (!pTexObject || !pResDesc || !pTexDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (pResViewDesc)
		return rt_fail(rt_refuse_use("cudaCreateTextureObject", "a resource view"));
	enum rt_error e = resource_of("cudaCreateTextureObject", pResDesc, &res);
	if (e == RT_OK)
		e = sampling_of(pTexDesc, &sampling);
	if (e == RT_OK) {
		struct kept kept = {*pResDesc, *pTexDesc};
		e = rt_texture_new(&res, &sampling, &kept, sizeof(kept), &handle);
	}
	if (e == RT_OK)
		*pTexObject = handle;
	return rt_fail(e);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
	RT_ENTER();
	return texObject ? rt_fail(rt_texture_free(texObject, false)) : cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
					     cudaTextureObject_t texObject)
{
	RT_ENTER();
	const struct kept *k = rt_texture_kept(texObject, false, sizeof(*k));
	if (!k || !pResDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*pResDesc = k->res;
	return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
					    cudaTextureObject_t texObject)
{
	RT_ENTER();
	const struct kept *k = rt_texture_kept(texObject, false, sizeof(*k));
	if (!k || !pTexDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*pTexDesc = k->tex;
	return cudaSuccess;
}

/* ---- surfaces ------------------------------------------------------------------------- */

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
				    const struct cudaResourceDesc *pResDesc)
{
	struct rt_resource res;
	uint64_t handle;

	RT_ENTER();
	if (!pSurfObject || !pResDesc || pResDesc->resType != cudaResourceTypeArray)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = resource_of("cudaCreateSurfaceObject", pResDesc, &res);
	if (e == RT_OK) {
		struct kept kept = {.res = *pResDesc};
		e = rt_texture_new(&res, NULL, &kept, sizeof(kept), &handle);
	}
	if (e == RT_OK)
		*pSurfObject = handle;
	return rt_fail(e);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
	RT_ENTER();
	return surfObject ? rt_fail(rt_texture_free(surfObject, true)) : cudaSuccess;
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
					     cudaSurfaceObject_t surfObject)
{
	RT_ENTER();
	const struct kept *k = rt_texture_kept(surfObject, true, sizeof(*k));
	if (!k || !pResDesc)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*pResDesc = k->res;
	return cudaSuccess;
}
