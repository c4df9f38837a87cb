/*
 * memory.c - entry points of memory: device, managed, pinned and registered; copies between
 * devices.
 */
#include "cudart/api/api.h"
#include "cudart/state/copy.h"
#include "cudart/state/memory.h"

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	RT_RETURN(rt_malloc(devPtr, size));
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	RT_RETURN(rt_malloc_managed(devPtr, size, flags));
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	RT_RETURN(rt_malloc_pitch(devPtr, pitch, width, height));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
	RT_RETURN(rt_malloc_3d(pitchedDevPtr, extent));
}

cudaError_t cudaFree(void *devPtr)
{
	RT_RETURN(rt_free(devPtr));
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	RT_RETURN(rt_host_alloc(pHost, size, flags));
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	RT_RETURN(rt_host_alloc(ptr, size, cudaHostAllocDefault));
}

cudaError_t cudaFreeHost(void *ptr)
{
	RT_RETURN(rt_free_host(ptr));
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	RT_RETURN(rt_host_register(ptr, size, flags));
}

cudaError_t cudaHostUnregister(void *ptr)
{
	RT_RETURN(rt_host_unregister(ptr));
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
	RT_RETURN(rt_host_get_device_pointer(pDevice, pHost, flags));
}

cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
	RT_RETURN(rt_host_get_flags(pFlags, pHost));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	RT_RETURN(rt_pointer_get_attributes(attributes, ptr));
}

cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location)
{
	RT_RETURN(rt_mem_advise(devPtr, count, advice, location));
}

cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize,
				     enum cudaMemRangeAttribute attribute, const void *devPtr,
				     size_t count)
{
	RT_RETURN(rt_mem_range_get_attribute(data, dataSize, attribute, devPtr, count));
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
				      enum cudaMemRangeAttribute *attributes, size_t numAttributes,
				      const void *devPtr, size_t count)
{
	RT_RETURN(rt_mem_range_get_attributes(data, dataSizes, attributes, numAttributes, devPtr,
					      count));
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	RT_RETURN(rt_memcpy_peer(dst, dstDevice, src, srcDevice, count));
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
				size_t count, cudaStream_t stream)
{
	RT_RETURN(rt_memcpy_peer_async(dst, dstDevice, src, srcDevice, count, stream));
}
