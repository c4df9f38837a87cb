/*
 * memory.c - entry points of memory: device, managed, pinned and registered; copies between
 * devices.
 */
#include <string.h>

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
	struct rt_pitched *p = (struct rt_pitched *)pitchedDevPtr;
	struct rt_extent e = {extent.width, extent.height, extent.depth};

	RT_RETURN(rt_malloc_3d(p, e));
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
	struct cpu_mem_info i;
	bool is_host_visible = true;

	RT_ENTER();
	if (!attributes)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	memset(attributes, 0, sizeof(*attributes));
	if (!cpu_mem_find(rt.m, (uintptr_t)ptr, &i)) {
		attributes->type = cudaMemoryTypeUnregistered;
		attributes->device = cudaInvalidDeviceId;
		attributes->hostPointer = (void *)(uintptr_t)ptr;
		return cudaSuccess;
	}
	switch (i.kind) {
	case CPU_MEM_HOST:
		attributes->type = cudaMemoryTypeHost;
		break;
	case CPU_MEM_MANAGED:
		attributes->type = cudaMemoryTypeManaged;
		break;
	case CPU_MEM_DEVICE:
	case CPU_MEM_MODULE:
		attributes->type = cudaMemoryTypeDevice;
		is_host_visible = false;
		break;
	}
	attributes->device = (int)i.device;
	attributes->devicePointer = (void *)(uintptr_t)ptr;
	attributes->hostPointer = is_host_visible ? (void *)(uintptr_t)ptr : NULL;
	return cudaSuccess;
}

static bool is_location(struct cudaMemLocation l)
{
	return l.type != cudaMemLocationTypeDevice || (l.id >= 0 && (unsigned)l.id < rt.ndevices);
}

cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location)
{
	RT_ENTER();
	(void)advice;
	if (!is_location(location))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	return rt_fail(rt_is_managed(devPtr, count) ? RT_OK : RT_ERROR_INVALID_VALUE);
}

static enum rt_error range_attribute(void *data, size_t dataSize,
				     enum cudaMemRangeAttribute attribute, const void *devPtr,
				     size_t count)
{
	if (!data || dataSize < sizeof(int) || !rt_is_managed(devPtr, count))
		return RT_ERROR_INVALID_VALUE;
	/* Advice isn't kept: nothing is read mostly, no location is preferred. */
	int v = 0;
	switch (attribute) {
	case cudaMemRangeAttributeReadMostly:
	case cudaMemRangeAttributePreferredLocationType:
	case cudaMemRangeAttributeLastPrefetchLocationType:
		break;
	case cudaMemRangeAttributePreferredLocation:
	case cudaMemRangeAttributeAccessedBy:
	case cudaMemRangeAttributeLastPrefetchLocation:
	case cudaMemRangeAttributePreferredLocationId:
	case cudaMemRangeAttributeLastPrefetchLocationId:
		v = cudaInvalidDeviceId;
		break;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i + sizeof(v) <= dataSize; i += sizeof(v))
		memcpy((char *)data + i, &v, sizeof(v));
	return RT_OK;
}

cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize,
				     enum cudaMemRangeAttribute attribute, const void *devPtr,
				     size_t count)
{
	RT_RETURN(range_attribute(data, dataSize, attribute, devPtr, count));
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
				      enum cudaMemRangeAttribute *attributes, size_t numAttributes,
				      const void *devPtr, size_t count)
{
	enum rt_error e = RT_OK;

	RT_ENTER();
	if (!data || !dataSizes || !attributes)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < numAttributes && e == RT_OK; i++)
		e = range_attribute(data[i], dataSizes[i], attributes[i], devPtr, count);
	return rt_fail(e);
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
