/*
 * pool.c - entry points of memory pools.
 */
#include "cudart/api/api.h"
#include "cudart/state/memory.h"

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	RT_RETURN(rt_mem_pool_create(memPool, poolProps));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
	RT_RETURN(rt_mem_pool_destroy(memPool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	RT_RETURN(rt_mem_pool_trim_to(memPool, minBytesToKeep));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	RT_RETURN(rt_mem_pool_get_attribute(memPool, attr, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	RT_RETURN(rt_mem_pool_set_attribute(memPool, attr, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
				 size_t count)
{
	RT_RETURN(rt_mem_pool_set_access(memPool, descList, count));
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
				 struct cudaMemLocation *location)
{
	RT_RETURN(rt_mem_pool_get_access(flags, memPool, location));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
	RT_RETURN(rt_device_get_default_mem_pool(memPool, device));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
	RT_RETURN(rt_device_get_mem_pool(memPool, device));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
	RT_RETURN(rt_device_set_mem_pool(device, memPool));
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
				     enum cudaMemAllocationType type)
{
	RT_RETURN(rt_mem_get_default_mem_pool(memPool, location, type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
			      enum cudaMemAllocationType type)
{
	RT_RETURN(rt_mem_get_mem_pool(memPool, location, type));
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
			      cudaMemPool_t memPool)
{
	RT_RETURN(rt_mem_set_mem_pool(location, type, memPool));
}
