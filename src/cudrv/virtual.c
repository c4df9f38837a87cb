/*
 * virtual.c - cuMemAddressReserve, cuMemCreate, cuMemMap, multicast objects and what belongs to
 * them.
 *
 * Misses: memory of the host, handles for other processes, compression, arrays. These are refused
 * by name. A driver's cuMulticastBindMem waits until all devices are added; here it isn't ready.
 */
#include "cudart/state/virtual.h"
#include "cudrv/drv.h"

/* Is it memory that can be made here? */
static CUresult check_prop(const char *name, const CUmemAllocationProp *p)
{
	if (!p)
		return drv_bad();
	switch ((int)p->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		break;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return (CUresult)rt_refuse_use(name, "memory of the host");
	default:
		return drv_bad();
	}
	if (!rt_is_device(p->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if (p->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return (CUresult)rt_refuse_use(name, "handles other than file descriptors");
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					       CUmemAllocationGranularity_flags option)
{
	DRV_ENTER_ANY();
	if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
			     option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return drv_bad();
	CUresult e = check_prop("cuMemGetAllocationGranularity", prop);
	if (e == CUDA_SUCCESS)
		*granularity = RT_GRANULE;
	return e;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
				     CUdeviceptr addr, unsigned long long flags)
{
	uint64_t at;

	DRV_ENTER_ANY();
	if (!ptr || flags)
		return drv_bad();
	enum rt_error e = rt_virtual_reserve(size, alignment, addr, &at);
	if (e == RT_OK)
		*ptr = at;
	return (CUresult)e;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	DRV_ENTER_ANY();
	return (CUresult)rt_virtual_free(ptr, size);
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			     const CUmemAllocationProp *prop, unsigned long long flags)
{
	uint64_t h;

	DRV_ENTER_ANY();
	if (!handle || !size || size % RT_GRANULE || flags)
		return drv_bad();
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return drv_bad();
	CUresult e = check_prop("cuMemCreate", prop);
	if (e != CUDA_SUCCESS)
		return e;
	e = (CUresult)rt_physical_new((unsigned)prop->location.id, size, prop, sizeof(*prop), &h);
	if (e == CUDA_SUCCESS)
		*handle = h;
	return e;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
	DRV_ENTER_ANY();
	return (CUresult)rt_physical_release(handle);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	uint64_t h;

	DRV_ENTER_ANY();
	if (!handle)
		return drv_bad();
	enum rt_error e = rt_physical_retain((uintptr_t)addr, &h);
	if (e == RT_OK)
		*handle = h;
	return (CUresult)e;
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
							CUmemGenericAllocationHandle handle)
{
	DRV_ENTER_ANY();
	return prop ? (CUresult)rt_physical_kept(handle, prop, sizeof(*prop)) : drv_bad();
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
			  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	DRV_ENTER_ANY();
	if (flags)
		return drv_bad();
	return offset ? CUDA_ERROR_NOT_SUPPORTED : (CUresult)rt_virtual_map(ptr, size, handle);
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	DRV_ENTER_ANY();
	return (CUresult)rt_virtual_unmap(ptr, size);
}

static CUresult check_location(const CUmemLocation *l)
{
	if (!l || l->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return drv_bad();
	return rt_is_device(l->id) ? CUDA_SUCCESS : drv_bad();
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
				size_t count)
{
	CUresult e = CUDA_SUCCESS;

	DRV_ENTER_ANY();
	if (!desc || !count)
		return drv_bad();
	for (size_t i = 0; i < count && e == CUDA_SUCCESS; i++) {
		e = check_location(&desc[i].location);
		if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			e = drv_bad();
	}
	for (size_t i = 0; i < count && e == CUDA_SUCCESS; i++)
		e = (CUresult)rt_virtual_set_access(ptr, size, (unsigned)desc[i].location.id,
						    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
	return e;
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
				CUdeviceptr ptr)
{
	bool is_on = false;

	DRV_ENTER_ANY();
	CUresult e = flags ? check_location(location) : drv_bad();
	if (e == CUDA_SUCCESS)
		e = (CUresult)rt_virtual_get_access(ptr, (unsigned)location->id, &is_on);
	if (e == CUDA_SUCCESS)
		*flags = is_on ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return e;
}

/* ---- multicast objects ---------- */

static bool is_team(const CUmulticastObjectProp *p)
{
	return p && p->numDevices && p->numDevices <= RT_DEVICES && p->size &&
	       p->size % RT_GRANULE == 0 && !p->flags;
}

static CUresult check_team(const char *name, const CUmulticastObjectProp *p)
{
	if (!is_team(p))
		return drv_bad();
	if (p->handleTypes & ~(unsigned long long)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return (CUresult)rt_refuse_use(name, "handles other than file descriptors");
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
					   CUmulticastGranularity_flags option)
{
	DRV_ENTER_ANY();
	if (!granularity || !prop ||
	    (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
	     option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
		return drv_bad();
	*granularity = RT_GRANULE;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMulticastCreate(CUmemGenericAllocationHandle *handle,
				   const CUmulticastObjectProp *prop)
{
	uint64_t h;

	DRV_ENTER_ANY();
	CUresult e = handle ? check_team("cuMulticastCreate", prop) : drv_bad();
	if (e == CUDA_SUCCESS)
		e = (CUresult)rt_multicast_new(prop->numDevices, prop->size, &h);
	if (e == CUDA_SUCCESS)
		*handle = h;
	return e;
}

CUresult CUDAAPI cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device)
{
	DRV_ENTER_ANY();
	if (!rt_is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return (CUresult)rt_multicast_add_device(handle, (unsigned)device);
}

CUresult CUDAAPI cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t at,
				    CUmemGenericAllocationHandle memory, size_t offset, size_t size,
				    unsigned long long flags)
{
	DRV_ENTER_ANY();
	if (flags)
		return drv_bad();
	return (CUresult)rt_multicast_bind(handle, at, memory, offset, size);
}

CUresult CUDAAPI cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t at,
				     CUdeviceptr address, size_t size, unsigned long long flags)
{
	DRV_ENTER_ANY();
	if (flags)
		return drv_bad();
	return (CUresult)rt_multicast_bind_address(handle, at, address, size);
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t at,
				   size_t size)
{
	DRV_ENTER_ANY();
	if (!rt_is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return (CUresult)rt_multicast_unbind(handle, (unsigned)device, at, size);
}
