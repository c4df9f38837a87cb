/*
 * array.c - CUDA arrays. Misses: mipmapped, sparse and cube map arrays, texture references.
 */
#include "cudart/state/array.h"
#include "cudrv/drv.h"

bool drv_format(CUarray_format f, unsigned channels, struct rt_format *out)
{
	static const struct {
		CUarray_format format;
		int bits;
		enum rt_channel kind;
	} rows[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 8, RT_CHANNEL_UNSIGNED},
		    {CU_AD_FORMAT_UNSIGNED_INT16, 16, RT_CHANNEL_UNSIGNED},
		    {CU_AD_FORMAT_UNSIGNED_INT32, 32, RT_CHANNEL_UNSIGNED},
		    {CU_AD_FORMAT_SIGNED_INT8, 8, RT_CHANNEL_SIGNED},
		    {CU_AD_FORMAT_SIGNED_INT16, 16, RT_CHANNEL_SIGNED},
		    {CU_AD_FORMAT_SIGNED_INT32, 32, RT_CHANNEL_SIGNED},
		    {CU_AD_FORMAT_HALF, 16, RT_CHANNEL_FLOAT},
		    {CU_AD_FORMAT_FLOAT, 32, RT_CHANNEL_FLOAT}};

	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		if (rows[i].format != f)
			continue;
		int b = rows[i].bits;
		*out = (struct rt_format){b, channels > 1 ? b : 0, channels > 2 ? b : 0,
					  channels > 3 ? b : 0, rows[i].kind};
		return channels == 1 || channels == 2 || channels == 4;
	}
	return false;
}

static CUresult create(CUarray *out, CUarray_format f, unsigned channels, struct rt_extent extent,
		       unsigned flags)
{
	struct rt_format format;

	DRV_ENTER();
	if (!out || !drv_format(f, channels, &format))
		return drv_bad();
	return (CUresult)rt_malloc_3d_array((rt_ref *)out, &format, extent, flags);
}

CUresult CUDAAPI cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *a)
{
	if (!a)
		return drv_bad();
	return create(pHandle, a->Format, a->NumChannels,
		      (struct rt_extent){a->Width, a->Height, 0}, 0);
}

CUresult CUDAAPI cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *a)
{
	if (!a)
		return drv_bad();
	return create(pHandle, a->Format, a->NumChannels,
		      (struct rt_extent){a->Width, a->Height, a->Depth}, a->Flags);
}

CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
	DRV_ENTER();
	return hArray ? (CUresult)rt_free_array(hArray) : CUDA_ERROR_INVALID_HANDLE;
}

static CUarray_format format_from(const struct rt_format *f, unsigned *channels)
{
	*channels = (unsigned)(!!f->x + !!f->y + !!f->z + !!f->w);
	if (f->kind == RT_CHANNEL_FLOAT)
		return f->x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
	bool is_signed = f->kind == RT_CHANNEL_SIGNED;
	if (f->x == 8)
		return is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
	if (f->x == 16)
		return is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
	return is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
}

CUresult CUDAAPI cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray hArray)
{
	const struct rt_array *a = rt_array_find(hArray);

	DRV_ENTER();
	if (!out || !a)
		return out ? CUDA_ERROR_INVALID_HANDLE : drv_bad();
	*out = (CUDA_ARRAY3D_DESCRIPTOR){.Width = a->extent.width,
					 .Height = a->extent.height,
					 .Depth = a->extent.depth,
					 .Flags = a->flags};
	out->Format = format_from(&a->desc, &out->NumChannels);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *out, CUarray hArray)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = out ? cuArray3DGetDescriptor(&d, hArray) : drv_bad();

	if (r == CUDA_SUCCESS)
		*out = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
	return r;
}
