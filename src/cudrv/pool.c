/*
 * pool.c - memory pools. Only devices have pools, of pinned memory that isn't exported.
 */
#include "cudart/state/memory.h"
#include "cudrv/drv.h"

static enum rt_error device_of(const CUmemLocation *l, const char *name, unsigned *device)
{
	if (l->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return rt_refuse_use(name, "a location that is no device");
	if (!rt_is_device(l->id))
		return RT_ERROR_INVALID_DEVICE;
	*device = (unsigned)l->id;
	return RT_OK;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	unsigned device = 0;

	DRV_ENTER_ANY();
	if (!pool || !props)
		return drv_bad();
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
	    props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return (CUresult)rt_refuse_use("cuMemPoolCreate", "exported or managed memory");
	enum rt_error e = device_of(&props->location, "cuMemPoolCreate", &device);
	if (e == RT_OK)
		e = rt_pool_create((rt_ref *)pool, device, props->maxSize);
	return (CUresult)e;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
	DRV_ENTER_ANY();
	return (CUresult)rt_pool_destroy(pool);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	(void)minBytesToKeep; /* nothing is kept anyway */
	DRV_ENTER_ANY();
	return (CUresult)rt_pool_check(pool);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	DRV_ENTER_ANY();
	return (CUresult)rt_pool_get(pool, (enum rt_pool_attr)attr, value);
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	DRV_ENTER_ANY();
	return (CUresult)rt_pool_set(pool, (enum rt_pool_attr)attr, value);
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	unsigned device = 0;

	DRV_ENTER_ANY();
	enum rt_error e = count && !map ? RT_ERROR_INVALID_VALUE : rt_pool_check(pool);
	for (size_t i = 0; i < count && e == RT_OK; i++) {
		e = device_of(&map[i].location, "cuMemPoolSetAccess", &device);
		if (e == RT_OK)
			e = rt_pool_set_access(pool, device,
					       map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	}
	return (CUresult)e;
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				    CUmemLocation *location)
{
	unsigned device = 0;
	bool is_on = false;

	DRV_ENTER_ANY();
	if (!flags || !location)
		return drv_bad();
	enum rt_error e = device_of(location, "cuMemPoolGetAccess", &device);
	if (e == RT_OK)
		e = rt_pool_get_access(pool, device, &is_on);
	if (e == RT_OK)
		*flags = is_on ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return (CUresult)e;
}

static CUresult pool_of(CUmemoryPool *pool, CUdevice dev, bool is_default)
{
	DRV_ENTER_ANY();
	if (!pool)
		return drv_bad();
	if (!rt_is_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*(rt_ref *)pool = is_default ? rt.dev[dev].default_pool : rt.dev[dev].pool;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	return pool_of(pool_out, dev, true);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return pool_of(pool, dev, false);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	DRV_ENTER_ANY();
	return rt_is_device(dev) ? (CUresult)rt_pool_use((unsigned)dev, pool)
				 : CUDA_ERROR_INVALID_DEVICE;
}
