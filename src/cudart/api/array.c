/*
 * array.c - entry points of CUDA arrays.
 */
#include "cudart/api/api.h"
#include "cudart/state/array.h"

static enum rt_error make(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			  struct rt_extent extent, unsigned flags)
{
	struct rt_format format;

	if (!array || !desc)
		return RT_ERROR_INVALID_VALUE;
	format = rt_format_of(desc);
	return rt_malloc_3d_array((rt_ref *)array, &format, extent, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			      struct cudaExtent extent, unsigned int flags)
{
	struct rt_extent e = {extent.width, extent.height, extent.depth};

	RT_RETURN(make(array, desc, e, flags));
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			    size_t width, size_t height, unsigned int flags)
{
	RT_RETURN(make(array, desc, (struct rt_extent){width, height, 0}, flags));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	RT_RETURN(rt_free_array(array));
}

static struct cudaChannelFormatDesc desc_of(const struct rt_array *a)
{
	return (struct cudaChannelFormatDesc){a->desc.x, a->desc.y, a->desc.z, a->desc.w,
					      (enum cudaChannelFormatKind)a->desc.kind};
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			     unsigned int *flags, cudaArray_t array)
{
	RT_ENTER();
	const struct rt_array *a = rt_array_find(array);
	if (!a)
		return rt_fail(RT_ERROR_INVALID_RESOURCE_HANDLE);
	if (desc)
		*desc = desc_of(a);
	if (extent)
		*extent = (struct cudaExtent){a->extent.width, a->extent.height, a->extent.depth};
	if (flags)
		*flags = a->flags;
	return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	RT_ENTER();
	const struct rt_array *a = rt_array_find(array);
	if (!a || !desc)
		return rt_fail(a ? RT_ERROR_INVALID_VALUE : RT_ERROR_INVALID_RESOURCE_HANDLE);
	*desc = desc_of(a);
	return cudaSuccess;
}
