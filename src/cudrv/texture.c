/*
 * texture.c - texture and surface objects as the driver describes them (cudart/state/texture.c).
 *
 * Refused by name: mipmaps, cube maps, views, sRGB, anisotropy, texture references.
 */
#include "cudart/state/texture.h"
#include "cudrv/drv.h"

/* What the program passed, for its queries. */
struct kept {
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC tex;
};

/* The runtime has more errors for what a description lacks. */
static CUresult result_of(enum rt_error e)
{
	switch (e) {
	case RT_ERROR_INVALID_CHANNEL_DESCRIPTOR:
	case RT_ERROR_INVALID_FILTER_SETTING:
	case RT_ERROR_INVALID_NORM_SETTING:
		return drv_bad();
	default:
		return (CUresult)e;
	}
}

static enum rt_error resource_of(const char *name, const CUDA_RESOURCE_DESC *d,
				 struct rt_resource *out)
{
	bool is_good = true;

	*out = (struct rt_resource){0};
	if (d->flags)
		return RT_ERROR_INVALID_VALUE;
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		out->kind = RT_RESOURCE_ARRAY;
		out->array = d->res.array.hArray;
		is_good = out->array != NULL;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		out->kind = RT_RESOURCE_LINE;
		out->address = d->res.linear.devPtr;
		out->width = d->res.linear.sizeInBytes;
		is_good = drv_format(d->res.linear.format, d->res.linear.numChannels, &out->format);
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		out->kind = RT_RESOURCE_ROWS;
		out->address = d->res.pitch2D.devPtr;
		out->width = d->res.pitch2D.width;
		out->height = d->res.pitch2D.height;
		out->pitch = d->res.pitch2D.pitchInBytes;
		is_good =
			drv_format(d->res.pitch2D.format, d->res.pitch2D.numChannels, &out->format);
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return rt_refuse_use(name, "a mipmapped array");
	default:
		is_good = false;
	}
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

static enum rt_error sampling_of(const CUDA_TEXTURE_DESC *d, struct cpu_sampling *out)
{
	const unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
			       CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
			       CU_TRSF_SEAMLESS_CUBEMAP;

	*out = (struct cpu_sampling){.is_linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR,
				     .is_element = d->flags & CU_TRSF_READ_AS_INTEGER,
				     .is_wide_element = true,
				     .is_normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES};
	if (d->flags & CU_TRSF_SRGB)
		return rt_refuse_use("cuTexObjectCreate", "CU_TRSF_SRGB");
	if (d->maxAnisotropy > 1)
		return rt_refuse_use("cuTexObjectCreate", "anisotropy");
	if (d->flags & CU_TRSF_SEAMLESS_CUBEMAP)
		return rt_refuse_use("cuTexObjectCreate", "CU_TRSF_SEAMLESS_CUBEMAP");
	if ((d->filterMode != CU_TR_FILTER_MODE_POINT && !out->is_linear) || d->flags & ~known)
		return RT_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < 3; i++)
		out->mode[i] = (int)d->addressMode[i];
	for (unsigned i = 0; i < 4; i++)
		out->border[i] = d->borderColor[i];
	return RT_OK;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
				   const CUDA_TEXTURE_DESC *pTexDesc,
				   const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
	struct cpu_sampling sampling;
	struct rt_resource res;
	uint64_t handle;

	DRV_ENTER();
	if (!pTexObject || !pResDesc || !pTexDesc)
		return drv_bad();
	if (pResViewDesc)
		return (CUresult)rt_refuse_use("cuTexObjectCreate", "a resource view");
	enum rt_error e = resource_of("cuTexObjectCreate", pResDesc, &res);
	if (e == RT_OK)
		e = sampling_of(pTexDesc, &sampling);
	if (e == RT_OK) {
		struct kept kept = {*pResDesc, *pTexDesc};
		e = rt_texture_new(&res, &sampling, &kept, sizeof(kept), &handle);
	}
	if (e == RT_OK)
		*pTexObject = handle;
	return result_of(e);
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texObject)
{
	DRV_RETURN(rt_texture_free(texObject, false));
}

CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
	DRV_ENTER();
	const struct kept *k = rt_texture_kept(texObject, false, sizeof(*k));
	if (!k || !pResDesc)
		return drv_bad();
	*pResDesc = k->res;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
	DRV_ENTER();
	const struct kept *k = rt_texture_kept(texObject, false, sizeof(*k));
	if (!k || !pTexDesc)
		return drv_bad();
	*pTexDesc = k->tex;
	return CUDA_SUCCESS;
}

/* No object here has a view. */
CUresult CUDAAPI cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
						CUtexObject texObject)
{
	DRV_ENTER();
	if (!pResViewDesc || !rt_texture_kept(texObject, false, sizeof(struct kept)))
		return drv_bad();
	*pResViewDesc = (CUDA_RESOURCE_VIEW_DESC){0};
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
	struct rt_resource res;
	uint64_t handle;

	DRV_ENTER();
	if (!pSurfObject || !pResDesc)
		return drv_bad();
	enum rt_error e = resource_of("cuSurfObjectCreate", pResDesc, &res);
	if (e == RT_OK) {
		struct kept kept = {.res = *pResDesc};
		e = rt_texture_new(&res, NULL, &kept, sizeof(kept), &handle);
	}
	if (e == RT_OK)
		*pSurfObject = handle;
	return result_of(e);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
	DRV_RETURN(rt_texture_free(surfObject, true));
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
	DRV_ENTER();
	const struct kept *k = rt_texture_kept(surfObject, true, sizeof(*k));
	if (!k || !pResDesc)
		return drv_bad();
	*pResDesc = k->res;
	return CUDA_SUCCESS;
}
