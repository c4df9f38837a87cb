/*
 * pool.c - entry points of memory pools. Only devices have pools, of pinned memory that isn't
 * exported.
 */
#include "cudart/api/api.h"
#include "cudart/state/memory.h"

/* The device of a location; `name` refuses others. */
static enum rt_error device_of(const struct cudaMemLocation *l, const char *name, unsigned *device)
{
	if (l->type != cudaMemLocationTypeDevice)
		return rt_refuse_use(name, "a location that is no device");
	if (!rt_is_device(l->id))
		return RT_ERROR_INVALID_DEVICE;
	*device = (unsigned)l->id;
	return RT_OK;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	unsigned device = 0;

	RT_ENTER();
	if (!memPool || !poolProps)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (poolProps->handleTypes != cudaMemHandleTypeNone ||
	    poolProps->allocType != cudaMemAllocationTypePinned)
		return rt_fail(rt_refuse_use("cudaMemPoolCreate", "exported or managed memory"));
	enum rt_error e = device_of(&poolProps->location, "cudaMemPoolCreate", &device);
	if (e == RT_OK)
		e = rt_pool_create((rt_ref *)memPool, device, poolProps->maxSize);
	return rt_fail(e);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
	RT_RETURN(rt_pool_destroy(memPool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	(void)minBytesToKeep; /* nothing is kept anyway */
	RT_RETURN(rt_pool_check(memPool));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	RT_RETURN(rt_pool_get(memPool, (enum rt_pool_attr)attr, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	RT_RETURN(rt_pool_set(memPool, (enum rt_pool_attr)attr, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
				 size_t count)
{
	unsigned device = 0;

	RT_ENTER();
	enum rt_error e = count && !descList ? RT_ERROR_INVALID_VALUE : rt_pool_check(memPool);
	for (size_t i = 0; i < count && e == RT_OK; i++) {
		e = device_of(&descList[i].location, "cudaMemPoolSetAccess", &device);
		if (e == RT_OK)
			e = rt_pool_set_access(memPool, device,
					       descList[i].flags ==
						       cudaMemAccessFlagsProtReadWrite);
	}
	return rt_fail(e);
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
				 struct cudaMemLocation *location)
{
	unsigned device = 0;
	bool is_on = false;

	RT_ENTER();
	if (!flags || !location)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = device_of(location, "cudaMemPoolGetAccess", &device);
	if (e == RT_OK)
		e = rt_pool_get_access(memPool, device, &is_on);
	if (e == RT_OK)
		*flags = is_on ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
	return rt_fail(e);
}

static enum rt_error pool_of(cudaMemPool_t *memPool, int device, bool is_default)
{
	if (!memPool)
		return RT_ERROR_INVALID_VALUE;
	if (!rt_is_device(device))
		return RT_ERROR_INVALID_DEVICE;
	const struct rt_device *d = &rt.dev[device];
	*(rt_ref *)memPool = is_default ? d->default_pool : d->pool;
	return RT_OK;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
	RT_RETURN(pool_of(memPool, device, true));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
	RT_RETURN(pool_of(memPool, device, false));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
	RT_RETURN(rt_is_device(device) ? rt_pool_use((unsigned)device, memPool)
				       : RT_ERROR_INVALID_DEVICE);
}

/* The same by location. */
static enum rt_error by_location(const struct cudaMemLocation *l, enum cudaMemAllocationType type,
				 const char *name, unsigned *device)
{
	if (!l)
		return RT_ERROR_INVALID_VALUE;
	if (type != cudaMemAllocationTypePinned)
		return rt_refuse_use(name, "memory that is not pinned");
	return device_of(l, name, device);
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
				     enum cudaMemAllocationType type)
{
	unsigned device = 0;

	RT_ENTER();
	enum rt_error e = by_location(location, type, "cudaMemGetDefaultMemPool", &device);
	return rt_fail(e == RT_OK ? pool_of(memPool, (int)device, true) : e);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
			      enum cudaMemAllocationType type)
{
	unsigned device = 0;

	RT_ENTER();
	enum rt_error e = by_location(location, type, "cudaMemGetMemPool", &device);
	return rt_fail(e == RT_OK ? pool_of(memPool, (int)device, false) : e);
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
			      cudaMemPool_t memPool)
{
	unsigned device = 0;

	RT_ENTER();
	enum rt_error e = by_location(location, type, "cudaMemSetMemPool", &device);
	return rt_fail(e == RT_OK ? rt_pool_use(device, memPool) : e);
}
