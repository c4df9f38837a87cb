/*
 * memory.c - allocations, what a pointer is, and copies as the driver describes them.
 */
#include <string.h>

#include "cudart/state/array.h"
#include "cudart/state/memory.h"
#include "cudart/state/virtual.h"
#include "cudrv/drv.h"

/* ---- device and managed memory -------------------------------------------------------- */

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr, size_t bytesize)
{
	void *p = NULL;

	DRV_ENTER();
	if (!dptr || !bytesize)
		return drv_bad();
	enum rt_error e = rt_malloc(&p, bytesize);
	if (e == RT_OK)
		*dptr = (uintptr_t)p;
	return (CUresult)e;
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
				 size_t Height, unsigned int ElementSizeBytes)
{
	void *p = NULL;

	DRV_ENTER();
	bool is_size = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
	if (!dptr || !pPitch || !WidthInBytes || !Height || !is_size)
		return drv_bad();
	enum rt_error e = rt_malloc_pitch(&p, pPitch, WidthInBytes, Height);
	if (e == RT_OK)
		*dptr = (uintptr_t)p;
	return (CUresult)e;
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	void *p = NULL;

	DRV_ENTER();
	if (!dptr)
		return drv_bad();
	if (flags == CU_MEM_ATTACH_SINGLE)
		return (CUresult)rt_refuse_use("cuMemAllocManaged", "CU_MEM_ATTACH_SINGLE");
	enum rt_error e = rt_malloc_managed(&p, bytesize, flags);
	if (e == RT_OK)
		*dptr = (uintptr_t)p;
	return (CUresult)e;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr dptr)
{
	DRV_RETURN(rt_free(drv_pointer(dptr)));
}

CUresult CUDAAPI cuMemGetInfo(size_t *free, size_t *total)
{
	uint64_t used, all;

	DRV_ENTER();
	if (!free || !total)
		return drv_bad();
	cpu_mem_usage(rt.m, rt_thread()->device, &used, &all);
	*free = all - used;
	*total = all;
	return CUDA_SUCCESS;
}

/* ---- host memory ---------------------------------------------------------------------- */

CUresult CUDAAPI cuMemAllocHost(void **pp, size_t bytesize)
{
	DRV_ENTER();
	return pp ? (CUresult)rt_host_alloc(pp, bytesize, 0) : drv_bad();
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	DRV_ENTER();
	return pp && bytesize ? (CUresult)rt_host_alloc(pp, bytesize, Flags) : drv_bad();
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
	DRV_ENTER();
	return p ? (CUresult)rt_free_host(p) : drv_bad();
}

CUresult CUDAAPI cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
	DRV_RETURN(rt_host_register(p, bytesize, Flags));
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
	DRV_RETURN(rt_host_unregister(p));
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	DRV_ENTER();
	return pdptr ? (CUresult)rt_host_get_device_pointer((void **)pdptr, p, Flags) : drv_bad();
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	DRV_RETURN(rt_host_get_flags(pFlags, p));
}

/* ---- what a pointer is ---------------------------------------------------------------- */

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct cpu_mem_info i;

	DRV_ENTER();
	if (!rt_virtual_find(dptr, &i.base, &i.bytes) && !cpu_mem_find(rt.m, dptr, &i))
		return CUDA_ERROR_NOT_FOUND;
	if (pbase)
		*pbase = i.base;
	if (psize)
		*psize = i.bytes;
	return CUDA_SUCCESS;
}

static bool is_on_host(const struct cpu_mem_info *i)
{
	return i->kind == CPU_MEM_HOST || i->kind == CPU_MEM_MANAGED;
}

static CUresult attribute(void *data, CUpointer_attribute attr, CUdeviceptr p,
			  const struct cpu_mem_info *i)
{
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = (CUcontext)(void *)rt_thread()->context;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data =
			i->kind == CPU_MEM_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = p;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!is_on_host(i))
			return drv_bad();
		*(void **)data = drv_pointer(p);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = i->generation;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)data = i->kind == CPU_MEM_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = (int)i->device;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = i->base;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = i->bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)data = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(int *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(uint64_t *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(int *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: {
		rt_lock();
		const struct rt_block *b = rt_block_at(drv_pointer(i->base));
		*(CUmemoryPool *)data = b ? (CUmemoryPool)(void *)b->pool : NULL;
		rt_unlock();
		return CUDA_SUCCESS;
	}
	default:
		return drv_bad();
	}
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr)
{
	struct cpu_mem_info i;

	DRV_ENTER_ANY();
	if (!data || !cpu_mem_find(rt.m, ptr, &i))
		return drv_bad();
	return attribute(data, attr, ptr, &i);
}

/* Bytes of an attribute's value. */
static size_t size_of(CUpointer_attribute attr)
{
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return 8;
	default:
		return 4;
	}
}

/* What isn't known of a pointer is 0, and a device of -2. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
					void **data, CUdeviceptr ptr)
{
	struct cpu_mem_info i;

	DRV_ENTER_ANY();
	if (!numAttributes || !attributes || !data)
		return drv_bad();
	bool is_known = cpu_mem_find(rt.m, ptr, &i);
	for (unsigned k = 0; k < numAttributes; k++) {
		if (is_known && attribute(data[k], attributes[k], ptr, &i) == CUDA_SUCCESS)
			continue;
		memset(data[k], 0, size_of(attributes[k]));
		if (attributes[k] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[k] = -2;
	}
	return CUDA_SUCCESS;
}

/* The one attribute that can be set is a hint. */
CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attr, CUdeviceptr ptr)
{
	struct cpu_mem_info i;

	DRV_ENTER();
	bool is_good = value && attr == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
	return is_good && cpu_mem_find(rt.m, ptr, &i) ? CUDA_SUCCESS : drv_bad();
}

/* ---- hints ---------------------------------------------------------------------------- */

static CUresult advise(CUdeviceptr p, size_t count, bool is_device, int device)
{
	DRV_ENTER();
	if (is_device && !rt_is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return rt_is_managed(drv_pointer(p), count) ? CUDA_SUCCESS : drv_bad();
}

#undef cuMemAdvise
CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
			     CUdevice device);

CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	(void)advice;
	return advise(devPtr, count, device != CU_DEVICE_CPU, device);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
				CUmemLocation location)
{
	(void)advice;
	return advise(devPtr, count, location.type == CU_MEM_LOCATION_TYPE_DEVICE, location.id);
}

/* Advice isn't kept: nothing is read mostly, no location is preferred. */
CUresult CUDAAPI cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attr,
					CUdeviceptr devPtr, size_t count)
{
	int v = 0;

	DRV_ENTER();
	if (!data || dataSize < sizeof(v) || !rt_is_managed(drv_pointer(devPtr), count))
		return drv_bad();
	switch ((int)attr) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		v = CU_DEVICE_INVALID;
		break;
	default:
		return drv_bad();
	}
	for (size_t i = 0; i + sizeof(v) <= dataSize; i += sizeof(v))
		memcpy((char *)data + i, &v, sizeof(v));
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRangeGetAttributes(void **data, size_t *dataSizes,
					 CUmem_range_attribute *attributes, size_t numAttributes,
					 CUdeviceptr devPtr, size_t count)
{
	CUresult r = CUDA_SUCCESS;

	DRV_ENTER();
	if (!data || !dataSizes || !attributes)
		return drv_bad();
	for (size_t i = 0; i < numAttributes && r == CUDA_SUCCESS; i++)
		r = cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count);
	return r;
}

/* ---- copies as they are described ----------------------------------------------------- */

/* One end of a description; positions and the extent are in bytes. */
struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static enum rt_error end_of(const struct end *e, const struct rt_extent *x, struct rt_end_3d *out)
{
	*out = (struct rt_end_3d){.pos = {e->x, e->y, e->z}};
	if (e->type == CU_MEMORYTYPE_ARRAY) {
		const struct rt_array *a = rt_array_find(e->array);
		size_t rows = a && a->extent.height ? a->extent.height : 1;
		size_t slices = a && a->extent.depth ? a->extent.depth : 1;
		if (!a)
			return RT_ERROR_INVALID_RESOURCE_HANDLE;
		if (e->x > a->pitch || x->width > a->pitch - e->x || e->y > rows ||
		    x->height > rows - e->y || e->z > slices || x->depth > slices - e->z)
			return RT_ERROR_INVALID_VALUE;
		out->memory = (struct rt_pitched){drv_pointer(a->base), a->pitch, a->pitch, rows};
		return RT_OK;
	}
	void *p =
		e->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)e->host : drv_pointer(e->device);
	/* A pitch of 0: rows without gaps. */
	size_t pitch = e->pitch ? e->pitch : e->x + x->width;
	size_t height = e->height ? e->height : e->y + x->height;
	out->memory = (struct rt_pitched){p, pitch, pitch, height};
	return e->type >= CU_MEMORYTYPE_HOST && e->type <= CU_MEMORYTYPE_UNIFIED
		       ? RT_OK
		       : RT_ERROR_INVALID_VALUE;
}

static enum rt_copy_kind kind_of(CUmemorytype dst, CUmemorytype src)
{
	if (dst == CU_MEMORYTYPE_UNIFIED || src == CU_MEMORYTYPE_UNIFIED)
		return RT_BY_ADDRESS;
	if (dst == CU_MEMORYTYPE_HOST)
		return src == CU_MEMORYTYPE_HOST ? RT_HOST_TO_HOST : RT_DEVICE_TO_HOST;
	return src == CU_MEMORYTYPE_HOST ? RT_HOST_TO_DEVICE : RT_BETWEEN_DEVICES;
}

static enum rt_error make(const struct end *dst, const struct end *src, struct rt_copy_3d *out)
{
	enum rt_error e = end_of(src, &out->extent, &out->src);

	if (e == RT_OK)
		e = end_of(dst, &out->extent, &out->dst);
	out->kind = kind_of(dst->type, src->type);
	return e;
}

enum rt_error drv_copy_2d(const CUDA_MEMCPY2D *c, struct rt_copy_3d *out)
{
	if (!c)
		return RT_ERROR_INVALID_VALUE;
	struct end src = {
		c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, 0,
		c->srcPitch,	  0};
	struct end dst = {
		c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, 0,
		c->dstPitch,	  0};
	out->extent = (struct rt_extent){c->WidthInBytes, c->Height, 1};
	return make(&dst, &src, out);
}

enum rt_error drv_copy_3d(const CUDA_MEMCPY3D *c, struct rt_copy_3d *out)
{
	if (!c || c->srcLOD || c->dstLOD)
		return RT_ERROR_INVALID_VALUE;
	struct end src = {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes,
			  c->srcY,	    c->srcZ,	c->srcPitch,  c->srcHeight};
	struct end dst = {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes,
			  c->dstY,	    c->dstZ,	c->dstPitch,  c->dstHeight};
	out->extent = (struct rt_extent){c->WidthInBytes, c->Height, c->Depth};
	return make(&dst, &src, out);
}
