/*
 * pool.c - stream-ordered allocation and memory pools.
 *
 * cudaMallocAsync allocates at once; the memory may be used by work that comes
 * after it in the stream's order, and by nothing else, which is what CUDA
 * promises too. cudaFreeAsync frees when the stream gets there, by an operation
 * of its own: a kernel that uses the memory later faults. A pool never keeps freed memory (its
 * release threshold is only stored): reuse would hide such a use.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/state/memory.h"

struct rt_pool *rt_pool_find(cudaMemPool_t p)
{
	return rt_handle_is(p, RT_POOL) ? (struct rt_pool *)p : NULL;
}

static struct rt_pool *pool_new(unsigned device)
{
	struct rt_pool *p = calloc(1, sizeof(*p));

	if (p) {
		p->device = device;
		p->access[device] = true;
		for (int i = 0; i < 3; i++)
			p->reuse[i] = 1;
		rt_handle_add(p, RT_POOL);
	}
	return p;
}

void rt_pools_init(unsigned device)
{
	struct rt_pool *p = pool_new(device);

	if (p)
		p->is_default = true;
	rt.dev[device].default_pool = rt.dev[device].pool = (cudaMemPool_t)p;
}

/* ---- allocating ----------------------------------------------------------------------- */

cudaError_t rt_pool_alloc(void **out, size_t size, cudaMemPool_t pool, cudaStream_t s,
			  bool is_per_thread)
{
	if (!out)
		return cudaErrorInvalidValue;
	if (size == 0) {
		*out = NULL;
		return cudaSuccess;
	}
	if (rt_stream_is_captured(s, is_per_thread))
		return rt_capture_alloc(out, size, s, is_per_thread);
	rt_lock();
	struct rt_stream *stream = rt_stream_find(s, is_per_thread);
	unsigned device = stream ? stream->device : 0;
	struct rt_pool *p = rt_pool_find(pool ? pool : rt.dev[device].pool);
	rt_unlock();
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (!p)
		return cudaErrorInvalidValue;
	if (p->max_size && p->used + size > p->max_size)
		return cudaErrorMemoryAllocation;
	return rt_block_new(p->device, size, CPU_MEM_DEVICE, 0, p, out);
}

/* Runs when the stream gets there. */
static void free_late(void *p)
{
	rt_lock();
	struct rt_block *b = rt_block_at(p);
	if (b)
		rt_block_free(b);
	rt_unlock();
}

cudaError_t rt_pool_free(void *ptr, cudaStream_t s, bool is_per_thread)
{
	cudaError_t e = cudaSuccess;

	if (!ptr)
		return cudaSuccess;
	if (rt_stream_is_captured(s, is_per_thread))
		return rt_capture_free(ptr, s, is_per_thread);
	rt_lock();
	struct rt_block *b = rt_block_at(ptr);
	bool is_graph = b && rt_graph_memory_release(ptr);
	if (!b || b->is_freed || b->kind != CPU_MEM_DEVICE)
		e = cudaErrorInvalidValue;
	else if (!is_graph)
		b->is_freed = true;
	uint64_t bytes = e == cudaSuccess && !is_graph ? b->bytes : 0;
	rt_unlock();
	if (e != cudaSuccess || is_graph)
		return e;

	struct rt_work w = {.cpu = {.kind = CPU_WORK_HOST,
				    .origin = rt_origin(),
				    .frees = (uintptr_t)ptr,
				    .free_bytes = bytes,
				    .host = {free_late, ptr}}};
	e = rt_stream_submit(s, is_per_thread, &w, NULL);
	if (e != cudaSuccess) {
		rt_lock();
		b = rt_block_at(ptr);
		if (b)
			b->is_freed = false;
		rt_unlock();
	}
	return e;
}

/* ---- pools --------------------------------------------------------------------------------- */

static cudaError_t check_location(const struct cudaMemLocation *l)
{
	if (l->type != cudaMemLocationTypeDevice)
		return cudaErrorNotSupported;
	return l->id >= 0 && (unsigned)l->id < rt.ndevices ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t rt_mem_pool_create(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	if (!memPool || !poolProps)
		return cudaErrorInvalidValue;
	if (poolProps->handleTypes != cudaMemHandleTypeNone ||
	    poolProps->allocType != cudaMemAllocationTypePinned)
		return rt_refuse_use("cudaMemPoolCreate", "exported or managed memory");
	cudaError_t e = check_location(&poolProps->location);
	if (e == cudaErrorNotSupported)
		e = rt_refuse_use("cudaMemPoolCreate", "a location that is no device");
	if (e != cudaSuccess)
		return e;
	rt_lock();
	struct rt_pool *p = pool_new((unsigned)poolProps->location.id);
	rt_unlock();
	if (!p)
		return cudaErrorMemoryAllocation;
	p->max_size = poolProps->maxSize;
	*memPool = (cudaMemPool_t)p;
	return cudaSuccess;
}

/* Its blocks stay valid. */
cudaError_t rt_mem_pool_destroy(cudaMemPool_t memPool)
{
	cudaError_t e = cudaSuccess;

	rt_lock();
	struct rt_pool *p = rt_pool_find(memPool);
	if (!p || p->is_default) {
		e = cudaErrorInvalidValue;
	} else {
		rt_handle_remove(p);
		if (rt.dev[p->device].pool == memPool)
			rt.dev[p->device].pool = rt.dev[p->device].default_pool;
		p->is_destroyed = true;
		if (p->used == 0)
			free(p);
	}
	rt_unlock();
	return e;
}

cudaError_t rt_mem_pool_trim_to(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	(void)minBytesToKeep; /* nothing is kept anyway */
	rt_lock();
	struct rt_pool *p = rt_pool_find(memPool);
	rt_unlock();
	return p ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t rt_mem_pool_get_attribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	cudaError_t e = cudaSuccess;

	rt_lock();
	struct rt_pool *p = rt_pool_find(memPool);
	if (!p || !value) {
		e = cudaErrorInvalidValue;
	} else {
		switch (attr) {
		case cudaMemPoolReuseFollowEventDependencies:
		case cudaMemPoolReuseAllowOpportunistic:
		case cudaMemPoolReuseAllowInternalDependencies:
			*(int *)value = p->reuse[attr - cudaMemPoolReuseFollowEventDependencies];
			break;
		case cudaMemPoolAttrReleaseThreshold:
			*(uint64_t *)value = p->threshold;
			break;
		case cudaMemPoolAttrReservedMemCurrent:
		case cudaMemPoolAttrUsedMemCurrent:
			*(uint64_t *)value = p->used;
			break;
		case cudaMemPoolAttrReservedMemHigh:
		case cudaMemPoolAttrUsedMemHigh:
			*(uint64_t *)value = p->used_high;
			break;
		default:
			e = cudaErrorInvalidValue;
		}
	}
	rt_unlock();
	return e;
}

cudaError_t rt_mem_pool_set_attribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	cudaError_t e = cudaSuccess;

	rt_lock();
	struct rt_pool *p = rt_pool_find(memPool);
	if (!p || !value) {
		e = cudaErrorInvalidValue;
	} else {
		switch (attr) {
		case cudaMemPoolReuseFollowEventDependencies:
		case cudaMemPoolReuseAllowOpportunistic:
		case cudaMemPoolReuseAllowInternalDependencies:
			p->reuse[attr - cudaMemPoolReuseFollowEventDependencies] = *(int *)value;
			break;
		case cudaMemPoolAttrReleaseThreshold:
			p->threshold = *(uint64_t *)value;
			break;
		case cudaMemPoolAttrReservedMemHigh:
		case cudaMemPoolAttrUsedMemHigh:
			if (*(uint64_t *)value == 0)
				p->used_high = p->used;
			else
				e = cudaErrorInvalidValue;
			break;
		default:
			e = cudaErrorInvalidValue;
		}
	}
	rt_unlock();
	return e;
}

cudaError_t rt_mem_pool_set_access(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
				   size_t count)
{
	cudaError_t e = cudaSuccess;

	rt_lock();
	struct rt_pool *p = rt_pool_find(memPool);
	if (!p || (count && !descList))
		e = cudaErrorInvalidValue;
	for (size_t i = 0; i < count && e == cudaSuccess; i++) {
		e = check_location(&descList[i].location);
		if (e != cudaSuccess)
			break;
		bool is_on = descList[i].flags == cudaMemAccessFlagsProtReadWrite;
		unsigned d = (unsigned)descList[i].location.id;
		if (d == p->device && !is_on)
			e = cudaErrorInvalidValue;
		else
			p->access[d] = is_on;
		/* The machine knows peers by device, not by pool. */
		if (e == cudaSuccess && d != p->device && is_on)
			cpu_mem_set_peer(rt.m, d, p->device, true);
	}
	rt_unlock();
	return e;
}

cudaError_t rt_mem_pool_get_access(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
				   struct cudaMemLocation *location)
{
	if (!flags || !location)
		return cudaErrorInvalidValue;
	cudaError_t e = check_location(location);
	rt_lock();
	struct rt_pool *p = rt_pool_find(memPool);
	if (!p)
		e = cudaErrorInvalidValue;
	if (e == cudaSuccess)
		*flags = p->access[location->id] ? cudaMemAccessFlagsProtReadWrite
						 : cudaMemAccessFlagsProtNone;
	rt_unlock();
	return e;
}

cudaError_t rt_device_get_default_mem_pool(cudaMemPool_t *memPool, int device)
{
	if (!memPool)
		return cudaErrorInvalidValue;
	if (device < 0 || (unsigned)device >= rt.ndevices)
		return cudaErrorInvalidDevice;
	*memPool = rt.dev[device].default_pool;
	return cudaSuccess;
}

cudaError_t rt_device_get_mem_pool(cudaMemPool_t *memPool, int device)
{
	if (!memPool)
		return cudaErrorInvalidValue;
	if (device < 0 || (unsigned)device >= rt.ndevices)
		return cudaErrorInvalidDevice;
	*memPool = rt.dev[device].pool;
	return cudaSuccess;
}

cudaError_t rt_device_set_mem_pool(int device, cudaMemPool_t memPool)
{
	cudaError_t e = cudaSuccess;

	if (device < 0 || (unsigned)device >= rt.ndevices)
		return cudaErrorInvalidDevice;
	rt_lock();
	struct rt_pool *p = rt_pool_find(memPool);
	if (!p || p->device != (unsigned)device)
		e = cudaErrorInvalidValue;
	else
		rt.dev[device].pool = memPool;
	rt_unlock();
	return e;
}

/* The same by location; only devices have pools. */
static cudaError_t pool_device(const struct cudaMemLocation *l, enum cudaMemAllocationType type,
			       const char *name)
{
	if (!l)
		return cudaErrorInvalidValue;
	if (type != cudaMemAllocationTypePinned)
		return rt_refuse_use(name, "memory that is not pinned");
	cudaError_t e = check_location(l);
	return e == cudaErrorNotSupported ? rt_refuse_use(name, "a location that is no device") : e;
}

cudaError_t rt_mem_get_default_mem_pool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
					enum cudaMemAllocationType type)
{
	cudaError_t e = pool_device(location, type, "cudaMemGetDefaultMemPool");
	return e == cudaSuccess ? rt_device_get_default_mem_pool(memPool, location->id) : e;
}

cudaError_t rt_mem_get_mem_pool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
				enum cudaMemAllocationType type)
{
	cudaError_t e = pool_device(location, type, "cudaMemGetMemPool");
	return e == cudaSuccess ? rt_device_get_mem_pool(memPool, location->id) : e;
}

cudaError_t rt_mem_set_mem_pool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
				cudaMemPool_t memPool)
{
	cudaError_t e = pool_device(location, type, "cudaMemSetMemPool");
	return e == cudaSuccess ? rt_device_set_mem_pool(location->id, memPool) : e;
}
