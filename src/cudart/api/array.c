/*
 * array.c - entry points of CUDA arrays.
 */
#include "cudart/api/api.h"
#include "cudart/state/array.h"

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			      struct cudaExtent extent, unsigned int flags)
{
	RT_RETURN(rt_malloc_3d_array(array, desc, extent, flags));
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			    size_t width, size_t height, unsigned int flags)
{
	RT_RETURN(rt_malloc_3d_array(array, desc, (struct cudaExtent){width, height, 0}, flags));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	RT_RETURN(rt_free_array(array));
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			     unsigned int *flags, cudaArray_t array)
{
	RT_RETURN(rt_array_get_info(desc, extent, flags, array));
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	RT_RETURN(rt_get_channel_desc(desc, array));
}
